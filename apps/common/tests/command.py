# SPDX-License-Identifier: BSD-3-Clause
"""What the command tests of all applications share: to run the program, and what it has to refuse, write and draw."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

# What no application writes, and what its plots say of it.
OTHER_FILES = (("{}", "has no variant"), ("[1]", "is no object"), ('{"variant": 5}', "variant is no str"), ("P5", "Expecting value"))


class Program:
    """`launcher`: the launcher, its option for the number of ranks, and its other options."""

    def __init__(self, path, launcher):
        self.path = path
        self.launcher = launcher

    def __call__(self, *args, ranks=1, env=None):
        """Runs the program, on one rank without the launcher. `env`: additions to the environment."""
        launch, ranks_option, *options = self.launcher
        command = [*([launch, ranks_option, str(ranks), *options] if ranks > 1 else []), self.path, *args]
        return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env={**os.environ, **(env or {})})


class CommandTest(unittest.TestCase):
    program = None  # a Program

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, content=None):
        """A path in the folder of this test."""
        path = os.path.join(self.folder.name, name)
        if content is not None:
            with open(path, "wb") as out:
                out.write(content)
        return path

    def accepted(self, *args, ranks=1, program=None, env=None):
        result = (program or self.program)(*args, ranks=ranks, env=env)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result

    def refused(self, *args, text, status=2, ranks=1, program=None, env=None):
        """The program says `text`, and says it once, though all ranks may find the error."""
        result = (program or self.program)(*args, ranks=ranks, env=env)
        output = result.stdout + result.stderr
        self.assertEqual(output.count(text), 1, f"expected once: {text}\n{output}")
        self.assertEqual(result.returncode, status, output)
        return output

    def read(self, name):
        with open(name, encoding="utf-8") as text:
            return json.load(text)

    def report(self, *args, ranks=1):
        """What --json writes."""
        name = self.file("run.json")
        self.accepted(*args, "--json", name, ranks=ranks)
        return self.read(name)

    def help_has(self, *words):
        text = self.accepted("--help").stdout
        for word in (*words, "--variant", "Exit status"):
            self.assertIn(word, text)

    def refuses_what_every_application_refuses(self, *args, files=("--json", "--timeline")):
        """`args`: a small run. `files`: the options that name a file to write."""
        self.refused(*args, "--variant", "magic", text="--variant: 'magic' is unknown, or not built into this program; see ")
        self.refused(*args, "--no-such-option", text="--no-such-option")
        for option in files:
            file = self.file("no/such/folder.out")
            self.refused(*args, option, file, text=f"{file}: cannot write this file: No such file")
            self.refused(*args, option, self.folder.name, text=f"{self.folder.name}: cannot write this file: Is a directory")
        self.assertEqual(os.listdir(self.folder.name), [])  # that is known before the run

    def plot(self, plot, *args):
        return subprocess.run([sys.executable, "-B", plot, *args], capture_output=True, text=True, check=False)

    def draws(self, plot, *args, picture):
        drawn = self.plot(plot, *args)
        if "install matplotlib" in drawn.stderr:
            self.skipTest("no matplotlib")
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        with open(picture, "rb") as image:
            self.assertEqual(image.read(8), b"\x89PNG\r\n\x1a\n")

    def refuses_other_files(self, plot, *commands):
        """`commands`: for each way to draw a file, the arguments before and those behind its name."""
        other = self.file("other.json")
        for content, text in OTHER_FILES:
            with open(other, "w", encoding="utf-8") as file:
                file.write(content)
            for before, behind in commands:
                drawn = self.plot(plot, *before, other, *behind)
                self.assertIn(f"plot.py: {other}", drawn.stderr)
                self.assertIn(text, drawn.stderr)
                self.assertEqual((drawn.returncode, drawn.stderr.count("\n")), (1, 1), drawn.stderr)

    def both_ends(self, timeline):
        """Checks that every message of a timeline has a sender and a receiver, in order. Returns when each was started and complete,
        by source, target, direction, iteration and column: first for the receivers, then for the senders."""
        ends = {0: {}, 1: {}}
        for rank, _, sent, direction, peer, iteration, col, _, started, complete in timeline["messages"]:
            self.assertLessEqual(started, complete)
            key = (rank, peer) if sent else (peer, rank)
            key += direction, iteration, col
            self.assertNotIn(key, ends[sent])
            ends[sent][key] = (started, complete)
        self.assertEqual(ends[0].keys(), ends[1].keys())
        for key, (started, _) in ends[1].items():
            self.assertLessEqual(started, ends[0][key][1], key)
        return ends[0], ends[1]

    def refuses_timelines_of_another_form(self, plot, timeline, before=(), behind=()):
        """`timeline`: a file that the program wrote; its drawing fails for these changes."""
        other = self.file("other.json")
        for change, text in ((lambda t: t.update(spans=[[1, 2]]), "a span is no list of 8 numbers"),
                             (lambda t: t["spans"][0].__setitem__(3, "soon"), "a span is no list of 8 numbers"),
                             (lambda t: t.update(messages=[5]), "a message is no list of 10 numbers"),
                             (lambda t: t["span_fields"].reverse(), "the fields of a span are col, ")):
            changed = self.read(timeline)
            change(changed)
            with open(other, "w", encoding="utf-8") as file:
                json.dump(changed, file)
            drawn = self.plot(plot, *before, other, *behind)
            self.assertIn(f"plot.py: {other} is no file of", drawn.stderr)
            self.assertIn(text, drawn.stderr)
            self.assertEqual((drawn.returncode, drawn.stderr.count("\n")), (1, 1), drawn.stderr)
