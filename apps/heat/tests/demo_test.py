# SPDX-License-Identifier: BSD-3-Clause
"""scripts/demo.py at small size, as a user without root, so that no situation has a delay: its sentences, its figure and its exit
status, also if a run fails and if values are wrong. What its sentences and bars say of given times needs no run."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
SCRIPTS = os.path.join(ROOT, "scripts")
sys.path.insert(0, SCRIPTS)
from demonstration import machine as machines, overview, situations, table  # noqa: E402
# Runs demo.py as it is, but it sees another user than root.
WITHOUT_DELAY = (f"import runpy, sys; sys.path.insert(0, {SCRIPTS!r}); import two_hosts; two_hosts.missing = lambda: 'needs root'; "
                 f"sys.argv[0] = 'demo.py'; runpy.run_path({os.path.join(SCRIPTS, 'demo.py')!r}, run_name='__main__')")


def situation(name="plates", usual="plate after plate", ours="callbacks", delay="", others=()):
    way = situations.Way
    return situations.Situation(name, "Four plates", way(usual, []), way(ours, []), tuple(way(label, []) for label in others), delay)


def compared(runs, block=None, **more):
    """A situation with the seconds of its runs: of the usual way, of ours, and of others."""
    each = overview.Compared(situation(**more), block)
    for seconds in runs:
        each.add(seconds)
    return each


MACHINE = types.SimpleNamespace(cores=2, load=0.1)
COSTS = {"task_s": 1e-6, "message_s": 2e-6}


class Sentences(unittest.TestCase):
    def lines(self, *each, costs=None):
        return overview.sentences(overview.report(MACHINE, list(each), costs or COSTS))

    def test_what_gains_most_comes_first_and_losses_last(self):
        found = self.lines(compared([(1, 2)] * 3, name="a"), compared([(3, 1)] * 3, name="b"), compared([(2, 1)] * 3, name="c"),
                           compared([(1, 1)] * 3, name="d"))
        self.assertEqual([line for line in found if line.endswith(":")],
                         ["What Thence gains:", "No difference for certain:", "What it loses:"])
        self.assertEqual([line.split(" times")[0].rpartition(" ")[2] for line in found if line.startswith("-")],
                         ["3.00", "2.00", "1.00", "0.50"])

    def test_gains_come_before_ratios_that_are_larger_but_do_not_agree(self):
        report = overview.report(MACHINE, [compared([(1, 2)] * 3, name="loses"), compared([(1, 0.5), (2, 1), (1, 2), (1, 2)], name="neither"),
                                           compared([(1.1, 1)] * 3, name="gains")], COSTS)
        self.assertEqual([row["name"] for row in report["situations"]], ["gains", "neither", "loses"])
        self.assertEqual([line.split("|")[-2].strip(" `") for line in table.lines([report])[2:]], ["gains", "neither", "loses"])

    def test_runs_that_do_not_agree_are_no_gain(self):
        self.assertIn("No difference for certain:", self.lines(compared([(1, 0.5), (1, 0.5), (1, 1.5), (1, 1.5)])))
        # One disturbed run in four changes nothing.
        self.assertIn("What Thence gains:", self.lines(compared([(1, 0.5), (1, 0.5), (1, 0.5), (1, 9)])))

    def test_a_sentence_names_both_ways_the_others_the_delay_and_how_large_a_block_is(self):
        found = self.lines(compared([(2, 1, 3)] * 3, block=100e-6, delay="300us", others=["MPI_Waitany by hand"]))
        self.assertEqual(found[1], "- Four plates, 300 µs between two hosts: callbacks is 2.00 times as fast as plate after plate, "
                                   "3.00 times as fast as MPI_Waitany by hand; a block takes 100 µs, 50 times a task or a message.")

    def test_a_sentence_names_its_picture_once_it_is_drawn(self):
        each = compared([(2, 1)] * 3)
        self.assertTrue(self.lines(each)[1].endswith("plate after plate."))
        each.picture = "plates.png"
        self.assertTrue(self.lines(each)[1].endswith("plate after plate. Picture: plates.png"))

    def test_how_long_it_took_and_why_it_cannot_be_shorter(self):
        self.assertEqual(overview.took(161.2, 3, 150), "This took 2 min 41 s.")
        self.assertEqual(overview.took(59.9, 3, 50), "This took 1 min 0 s.")
        self.assertEqual(overview.took(250, 3, 200), "This took 4 min 10 s. 3 rounds, the least, ended only after 3 min 20 s, so it "
                                                     "cannot keep to 3 min 0 s here; --only or --scale makes it shorter.")
        self.assertEqual(overview.took(3000, 3, 170), "This took 50 min 0 s.")  # as --seconds allowed

    def test_blocks_that_are_too_small_are_told(self):
        found = self.lines(compared([(2, 1)] * 3, block=30e-6))
        self.assertIn("15 times a task or a message, less than 20: too small here.", found[1])

    def test_where_only_the_cost_of_progress_is_left_the_line_says_so(self):
        gain, cost = (situation(name=name, ours="thence run --progress", delay=delay) for name, delay in (("alltoall", "300us"), ("small", "")))
        tasks = situation(delay="300us", ours="active messages")
        line = "Left out: the situations with a delay between two hosts, since this needs root."
        self.assertEqual(overview.left_out_with_delay([gain, tasks, cost], "needs root"),
                         f"{line} What thence run --progress gains is in these; small shows only what it costs.")
        for others in ([gain, tasks], [tasks, cost]):
            self.assertEqual(overview.left_out_with_delay(others, "needs root"), line)

    def test_other_load_is_told(self):
        busy = overview.report(types.SimpleNamespace(cores=2, load=1.25), [compared([(2, 1)])], COSTS)
        self.assertIn("1 run of each in turn, on 2 processors, of which other programs used 1.2 on average just before; medians",
                      overview.sentences(busy)[-1])
        self.assertIn("on 2 processors; medians", self.lines(compared([(2, 1)]))[-1])

    def test_only_processors_that_the_runs_may_use_count_as_used(self):
        before = "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 10 0 10 100 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\ncpu7 5 5 5 5 5 5 5 5 0 0\nintr 1\n"
        after = "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 30 0 20 140 30 0 0 0 0 0\ncpu1 100 0 0 0 0 0 0 0 0 0\ncpu7 5 5 5 5 5 6 7 6 0 0\nintr 9\n"
        for allowed, used in (({0}, 0.3), ({7}, 1), ({0, 7}, 1.3), ({0, 1, 7}, 2.3)):
            self.assertAlmostEqual(machines.processors_used(before, after, allowed), used)

    def test_all_situations_have_a_picture_and_blocks_that_are_told_or_compute_nothing(self):
        machine = types.SimpleNamespace(cores=8, program=lambda name: name, scaled=lambda n: n, field=lambda *_: "field.npy")
        every = situations.all_situations(machine)
        self.assertEqual(sorted(s.name for s in every if s.block is None), ["fibers", "small"])
        self.assertEqual([s.name for s in every if s.picture is None], [])
        self.assertEqual(len({s.name for s in every}), len(every))


class Table(unittest.TestCase):
    """Of the runs of several demonstrations."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def ran(self, name, *each):
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        with open(os.path.join(folder, "overview.json"), "w", encoding="utf-8") as file:
            json.dump(overview.report(MACHINE, list(each), COSTS), file)
        return folder

    @staticmethod
    def table(*folders):
        return subprocess.run([sys.executable, "-B", os.path.join(SCRIPTS, "demo.py"), "--table", *folders], capture_output=True, text=True,
                              check=False, timeout=100)

    def test_rows_are_in_the_order_of_the_last_run_and_have_the_lowest_and_the_highest_median(self):
        hand = {"name": "hand", "delay": "300us", "others": ["MPI_Waitany"]}
        first = self.ran("1", compared([(1.5, 1, 0.5)] * 3, block=100e-6, **hand), compared([(1, 2)] * 3, name="loss"),
                         compared([(9, 1)] * 3, name="gone"))
        last = self.ran("2", compared([(1.25, 1, 0.75)] * 3, block=140e-6, **hand), compared([(2, 1)] * 3, name="best"),
                        compared([(3, 4)] * 3, name="loss"))
        done = self.table(first, last)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [
            "| situation | times the speed | of what one can write by hand | a block: times a task / times a message | `--only` |",
            "|---|---|---|---|---|",
            "| Four plates: callbacks against plate after plate | 2.00 |  |  | `best` |",
            "| Four plates, 300 µs between two hosts: callbacks against plate after plate | 1.25 to 1.50 | **0.50 to 0.75** of MPI_Waitany | "
            "100 to 140 / 50 to 70 | `hand` |",
            "| Four plates: callbacks against plate after plate | **0.50 to 0.75** |  |  | `loss` |",
            "| Four plates: callbacks against plate after plate | 9.00 |  |  | `gone` |"])

    def test_medians_that_do_not_agree_are_no_loss(self):
        folders = [self.ran(str(usual), compared([(usual, 1)] * 3)) for usual in (0.5, 0.9, 1.1)]
        self.assertIn("| 0.50 to 1.10 |", self.table(*folders).stdout)
        self.assertIn("| **0.50 to 0.90** |", self.table(*folders[:2]).stdout)

    def test_folders_without_a_run_are_refused(self):
        for content, text in ((None, "cannot read "), ("[]", "is not of scripts/demo.py"), ("{", "overview.json: ")):
            if content:
                with open(os.path.join(self.folder, "overview.json"), "w", encoding="utf-8") as file:
                    file.write(content)
            done = self.table(self.folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--table: ", done.stderr)
            self.assertIn(text, done.stderr)


class Demo(unittest.TestCase):
    launcher = heat = plates = None

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = os.path.join(self.folder, "out")
        os.mkdir(os.path.join(self.folder, "bin"))

    def demo(self, *arguments, fault=""):
        """Runs the demonstration with programs that obey `fault`, a line of sh. Only heat and heat_plates are there."""
        for name, program in (("heat", self.heat), ("heat_plates", self.plates)):
            path = os.path.join(self.folder, "bin", name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{fault}\nexec '{program}' \"$@\"\n")
            os.chmod(path, 0o755)
        return subprocess.run([sys.executable, "-B", "-c", WITHOUT_DELAY, self.folder, self.out, "--scale", "1", "--repeats", "1",
                               *arguments], capture_output=True, text=True, check=False, timeout=100,
                              env={**os.environ, "MPIEXEC": self.launcher})

    def report(self):
        with open(os.path.join(self.out, "report.txt"), encoding="utf-8") as file:
            return file.read()

    def test_runs_what_is_there_and_says_what_is_left_out(self):
        done = self.demo("--only", "plates", "--only", "qr", "--only", "slow")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Four independent plates, one thread a rank: callbacks is ", self.report())
        self.assertIn("Left out: slow, since there is no program bin/offload.", self.report())
        self.assertIn("Left out: the situations with a delay between two hosts, since this needs root.",
                      self.report())
        self.assertIn("All 3 runs that were checked have the right values.", self.report())
        with open(os.path.join(self.out, "overview.json"), encoding="utf-8") as file:
            self.assertEqual([row["name"] for row in json.load(file)["situations"]], ["plates"])
        with open(os.path.join(self.out, "order.json"), encoding="utf-8") as file:
            self.assertEqual([sorted(row) for row in json.load(file)["situations"]], [["name", "ratio"]])
        self.assertIn("| `plates` |", self.report())
        self.assertRegex(self.report(), r"\nThis took [0-9 mins]+\.\n$")
        drawn = "no figures" not in done.stderr
        for name in ("overview", "plates"):
            self.assertEqual(os.path.exists(os.path.join(self.out, f"{name}.png")), drawn, name)
        self.assertEqual("Picture: plates.png" in self.report(), drawn)

    def test_a_run_that_fails_keeps_its_log_and_gives_status_1(self):
        done = self.demo("--only", "plates", fault='case "$*" in *waitany*) echo "no luck"; exit 9 ;; esac')
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        with open(os.path.join(self.out, "plates-by-hand-1.log"), encoding="utf-8") as file:
            self.assertIn("no luck", file.read())
        self.assertIn("no luck", done.stderr)
        self.assertIn("Some runs failed or have wrong values; their logs are kept.", self.report())
        self.assertNotIn("callbacks is", self.report())

    def test_a_field_that_differs_gives_status_3(self):
        # The serial run makes more iterations, so every field differs from the reference.
        done = self.demo("--only", "balanced", fault='case "$*" in *--field*) plate=$1 size=$3 block=$5; shift 7; set -- "$plate" '
                                                     '--size "$size" --block "$block" --iterations 3 "$@" ;; esac')
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("Some runs failed or have wrong values", self.report())

    def test_a_folder_with_files_of_others_is_refused_and_one_of_an_earlier_run_is_used_again(self):
        os.mkdir(self.out)
        for name, content in (("mine.png", ""), ("report.txt", "my report"), ("overview.json", "[]"), ("notes.md", "")):
            with open(os.path.join(self.out, name), "w", encoding="utf-8") as file:
                file.write(content)
        before = sorted(os.listdir(self.out))
        refused = self.demo("--only", "slow")
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn(f"{self.out} has files that are not of an earlier run, such as mine.png", refused.stderr)
        self.assertEqual((sorted(os.listdir(self.out)), self.report()), (before, "my report"))
        for earlier in ({"report.txt": "The demonstration has not ended.\n"}, {"report.txt": "ended", "overview.json": '{"what": "scripts/demo.py"}'}):
            for name, content in earlier.items():
                with open(os.path.join(self.out, name), "w", encoding="utf-8") as file:
                    file.write(content)
            done = self.demo("--only", "slow")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("Left out: slow", self.report())
            self.assertEqual([os.path.exists(os.path.join(self.out, name)) for name in ("mine.png", "notes.md")], [False, True])

    def test_folders_need_not_be_named(self):
        for arguments, status, text in ((["--list"], 0, "plates "), (["--list", "--only", "plates"], 0, "plates "),
                                        (["--only", "all"], 2, "--only all: no situation")):
            done = subprocess.run([sys.executable, "-B", os.path.join(SCRIPTS, "demo.py"), *arguments], capture_output=True, text=True,
                                  check=False, timeout=100, cwd=self.folder, env={**os.environ, "MPIEXEC": self.launcher})
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(text, done.stdout + done.stderr)

    def test_wrong_usage(self):
        for arguments in (["--scale", "0"], ["--repeats", "100"], ["--seconds", "0"], ["--only", "all"]):
            self.assertEqual(self.demo(*arguments).returncode, 2, arguments)
        self.assertFalse(os.path.exists(self.out))
        with open(self.out, "w", encoding="utf-8"):
            result = self.demo("--only", "balanced")
        self.assertEqual(result.returncode, 2)
        self.assertIn("cannot make the folder", result.stderr)


if __name__ == "__main__":
    Demo.launcher, Demo.heat, Demo.plates = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
