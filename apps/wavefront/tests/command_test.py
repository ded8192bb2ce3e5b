#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Command line and files of wavefront. Arguments: the program, then the launcher with its flags for two ranks."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import unittest

WAVEFRONT, *LAUNCH = sys.argv[1:]
PLOT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "plot.py")
SMALL = ["--grid", "60x40", "--iterations", "2", "--progress", "never"]


def run(*args, ranks=1):
    command = [*(LAUNCH if ranks == 2 else []), WAVEFRONT, *args]
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
        for word in ("--variant", "--lines", "waitany", "callbacks", "coroutine", "Exit status"):
            self.assertIn(word, result.stdout)

    def test_wrong_usage_is_refused(self):
        self.refused("--variant", "magic", text="unknown")
        self.refused("--no-such-option", text="--no-such-option")
        self.refused("--grid", "4by4", text="COLUMNSxLINES")
        self.refused("--grid", "4x4x", text="COLUMNSxLINES")
        self.refused("--grid", "1x9", text="both at least 2")
        self.refused("--lines", "0", text="--lines")
        self.refused("--grids", "65", text="--grids")
        self.refused("--imbalance", "5@zones:1", text="'zones' is unknown")
        self.refused("--grid", "2x9", ranks=2, text="too few for 2 ranks")
        self.refused("--imbalance", "5@rank:2", ranks=2, text="there is no rank 2")

    def test_a_file_that_cannot_be_written_is_reported(self):
        for option in ("--json", "--timeline"):
            self.refused(*SMALL, option, self.file("no/such/folder.json"), text="folder.json: cannot write this file: No such file")

    def test_json_has_settings_and_result(self):
        file = self.file("run.json")
        result = run(*SMALL, "--variant", "callbacks", "--lines", "3", "--grids", "2", "--json", file, ranks=2)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(file, encoding="utf-8") as text:
            found = json.load(text)
        # 13 blocks of lines for each grid and iteration, and the corner after the first one.
        expected = {"variant": "callbacks", "ranks": 2, "columns": 60, "lines": 40, "lines_per_message": 3, "iterations": 2,
                    "grids": 2, "values": "right", "simulated": False, "messages": 2 * (2 * 13 + 1)}
        self.assertEqual({key: found[key] for key in expected}, expected)
        self.assertGreater(found["time_s"], 0)
        self.assertEqual(found["thence"]["attached"] + found["thence"]["immediate"], found["messages"])

    def test_imbalance_makes_a_rank_dearer_and_keeps_the_values(self):
        timeline = self.file("timeline.json")
        result = run("--grid", "2000x200", "--iterations", "2", "--progress", "never", "--imbalance", "20@rank:0", "--timeline", timeline,
                     ranks=2)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(timeline, encoding="utf-8") as text:
            spans = json.load(text)["spans"]
        # The middle step of each rank, and far less than the factor: other programs may interrupt some steps.
        dear, even = (statistics.median(s[4] - s[3] for s in spans if s[0] == rank and s[2] == 0) for rank in range(2))
        self.assertGreater(dear, 4 * even)

    def test_progress_is_drawn_where_it_is_asked_for(self):
        self.assertRegex(run("--grid", "60x40", "--iterations", "5", "--progress", "always").stderr, "mpi .* of [0-9]+ steps")
        self.assertEqual("", run(*SMALL).stderr)

    def test_timeline_has_a_span_for_each_step_and_is_drawn(self):
        timeline, picture = self.file("timeline.json"), self.file("picture.png")
        result = run(*SMALL, "--lines", "13", "--grids", "2", "--variant", "coroutine", "--timeline", timeline, ranks=2)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(timeline, encoding="utf-8") as text:
            run_of = json.load(text)
        fields = run_of["span_fields"]
        steps = sorted((s[fields.index("rank")], s[fields.index("row")], s[fields.index("iteration")]) for s in run_of["spans"])
        self.assertEqual(steps, [(rank, grid, step) for rank in range(2) for grid in range(2) for step in range(2 * 3)])
        drawn = subprocess.run([sys.executable, "-B", PLOT, timeline, picture], capture_output=True, text=True, check=False)
        if "install matplotlib" in drawn.stderr:
            self.skipTest("no matplotlib")
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        with open(picture, "rb") as image:
            self.assertEqual(image.read(8), b"\x89PNG\r\n\x1a\n")

    def test_plots_refuse_other_files(self):
        other = self.file("other.json")
        for content, text in (("{}", "has no variant"), ("[1]", "is no object"), ('{"variant": 5}', "variant is no str"), ("P5", "Expecting value")):
            with open(other, "w", encoding="utf-8") as file:
                file.write(content)
            for command in ([other, self.file("picture.png")],):
                drawn = subprocess.run([sys.executable, "-B", PLOT, *command], capture_output=True, text=True, check=False)
                self.assertIn(f"plot.py: {other}", drawn.stderr)
                self.assertIn(text, drawn.stderr)
                self.assertEqual((drawn.returncode, drawn.stderr.count("\n")), (1, 1), drawn.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
