#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Command line and files of latency_mt. Arguments: the program, the same on an MPI that makes
bytes of rank 0 wrong, then the launcher with its flags for two ranks."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM, WRONG, *LAUNCH = sys.argv[1:]
PLOT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "plot.py")
SMALL = ["--rounds", "2", "--largest", "4", "--in-flight", "2"]


def run(*args, ranks=1, program=PROGRAM):
    command = [*(LAUNCH if ranks == 2 else []), program, *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name):
        return os.path.join(self.folder.name, name)

    def refused(self, *args, text, status=2, ranks=1):
        result = run(*args, ranks=ranks)
        self.assertIn(text, result.stdout + result.stderr)
        self.assertEqual(result.returncode, status, result.stderr)

    def test_help_names_options_variants_and_exit_status(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for word in ("--variant", "--in-flight", "threads", "Exit status"):
            self.assertIn(word, result.stdout)

    def test_wrong_usage_is_refused(self):
        self.refused("--variant", "magic", text="unknown, or not built")
        self.refused("--in-flight", "0", text="--in-flight")
        self.refused("--rounds", "many", text="--rounds")
        self.refused("--smallest", "8", "--largest", "4", text="8 is more than --largest 4")
        self.refused("--no-such-option", text="--no-such-option")
        self.refused(text="needs 2 ranks and has 1")

    def test_a_file_that_cannot_be_written_is_reported(self):
        result = run(*SMALL, "--json", self.file("no/such/folder.json"), ranks=2)
        self.assertIn("folder.json", result.stderr)
        self.assertNotEqual(result.returncode, 0)

    def test_progress_is_drawn_where_it_is_asked_for(self):
        self.assertRegex(run(*SMALL, "--progress", "always", ranks=2).stderr, "threads .* of 3 sizes")

    def test_json_has_a_latency_for_each_size_and_is_drawn(self):
        file, picture = self.file("run.json"), self.file("picture.png")
        result = run(*SMALL, "--json", file, ranks=2)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(file, encoding="utf-8") as text:
            found = json.load(text)
        self.assertEqual([row["bytes"] for row in found["latencies"]], [1, 2, 4])
        self.assertTrue(all(row["latency_us"] > 0 for row in found["latencies"]))
        self.assertEqual((found["variant"], found["in_flight"], found["contents"]), ("threads", 2, "right"))
        drawn = subprocess.run([sys.executable, "-B", PLOT, file, "-o", picture], capture_output=True, text=True, check=False)
        if "install matplotlib" in drawn.stderr:
            self.skipTest("no matplotlib")
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        with open(picture, "rb") as image:
            self.assertEqual(image.read(8), b"\x89PNG\r\n\x1a\n")

    def test_a_wrong_byte_is_reported_by_the_rank_that_received_it(self):
        file = self.file("run.json")
        result = run("--rounds", "2", "--smallest", "4", "--largest", "4", "--in-flight", "2", "--json", file, ranks=2, program=WRONG)
        self.assertRegex(result.stderr, "latency_mt: rank 1: lane 0, round 0: byte 3 of 4")
        self.assertNotIn("rank 0:", result.stderr)
        self.assertIn("contents WRONG", result.stdout)
        self.assertEqual(result.returncode, 3, result.stderr)
        with open(file, encoding="utf-8") as text:
            self.assertEqual(json.load(text)["contents"], "wrong")

    def test_plots_refuse_other_files(self):
        other = self.file("other.json")
        for content, text in (("{}", "has no variant"), ("[1]", "is no object"), ('{"variant": 5}', "variant is no str"), ("P5", "Expecting value")):
            with open(other, "w", encoding="utf-8") as file:
                file.write(content)
            for command in ([other],):
                drawn = subprocess.run([sys.executable, "-B", PLOT, *command], capture_output=True, text=True, check=False)
                self.assertIn(f"plot.py: {other}", drawn.stderr)
                self.assertIn(text, drawn.stderr)
                self.assertEqual((drawn.returncode, drawn.stderr.count("\n")), (1, 1), drawn.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
