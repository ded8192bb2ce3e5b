#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Command line and files of wavefront. Arguments: the program, the same on an MPI with a fault, then the launcher and its options."""
import os
import re
import statistics
import sys
import unittest

APP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(APP, "../common/tests"))
from command import CommandTest, Program

PLOT = os.path.join(APP, "plot.py")
SMALL = ["--grid", "60x40", "--iterations", "2", "--progress", "never"]


class Command(CommandTest):
    program = Program(sys.argv[1], sys.argv[3:])
    faulty = Program(sys.argv[2], sys.argv[3:])

    def test_help_names_options_variants_and_exit_status(self):
        self.help_has("--lines", "waitany", "callbacks", "coroutine")

    def test_wrong_usage_is_refused(self):
        self.refuses_what_every_application_refuses(*SMALL)
        self.refused("--grid", "4by4", text="COLUMNSxLINES")
        self.refused("--grid", "4x4x", text="COLUMNSxLINES")
        self.refused("--grid", "1x9", text="both at least 2")
        self.refused("--lines", "0", text="--lines")
        self.refused("--grids", "65", text="--grids")
        self.refused("--imbalance", "5@zones:1", text="'zones' is unknown")
        self.refused("--imbalance", "5@rank:1", text="there is no rank 1, only 0 to 0")

    def test_more_ranks_than_columns_are_refused_once(self):
        self.refused("--grid", "2x9", ranks=2, text="2 columns, of which the first is given, are too few for 2 ranks")
        self.refused("--grid", "4x9", ranks=4, text="too few for 4 ranks")
        self.accepted("--grid", "3x9", "--iterations", "2", ranks=2)
        self.refused("--imbalance", "5@rank:2", ranks=2, text="there is no rank 2, only 0 to 1")

    def test_a_wrong_value_is_named_by_the_first_rank_that_has_it(self):
        # Rank 0 sends the wrong values, so it has none.
        for variant in ("mpi", "waitany", "callbacks", "coroutine"):
            for ranks in (2, 4):
                with self.subTest(variant=variant, ranks=ranks):
                    file = self.file("run.json")
                    output = self.refused("--grid", "61x40", "--iterations", "1", "--variant", variant, "--json", file, ranks=ranks,
                                          program=self.faulty, env={"FAULT": "wrong_value"}, status=3, text="wavefront: rank 1: ")
                    column = 1 + 60 // ranks
                    text, found, difference = re.search(
                        rf"(rank 1: grid 0, line 1, column {column}: found (\S+), expected {column + 1}, difference (\S+))\n", output).groups()
                    self.assertEqual(float(found) - (column + 1), float(difference))
                    self.assertLess(0, abs(float(difference)))
                    self.assertNotRegex(output, "rank [023]:")
                    self.assertRegex(output, f"{variant} .* WRONG")
                    self.assertEqual(self.read(file)["values"], text)

    def test_an_operation_that_fails_ends_the_program_with_its_error(self):
        result = self.faulty("--grid", "61x40", "--variant", "callbacks", "--lines", "4", ranks=2, env={"FAULT": "truncated"})
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r": rank \d: solve_callbacks\.cpp:\d+: (?is:.*trunc)")

    def test_json_has_settings_and_result(self):
        found = self.report(*SMALL, "--variant", "callbacks", "--lines", "3", "--grids", "2", ranks=2)
        # 13 blocks of lines for each grid and iteration, and the corner after the first one.
        expected = {"variant": "callbacks", "ranks": 2, "columns": 60, "lines": 40, "lines_per_message": 3, "iterations": 2,
                    "grids": 2, "values": "right", "simulated": False, "messages": 2 * (2 * 13 + 1)}
        self.assertEqual({key: found[key] for key in expected}, expected)
        self.assertGreater(found["time_s"], 0)
        self.assertEqual(found["thence"]["attached"] + found["thence"]["immediate"], found["messages"])

    def test_imbalance_makes_a_rank_dearer_and_keeps_the_values(self):
        timeline = self.file("timeline.json")
        self.accepted("--grid", "2000x200", "--iterations", "2", "--progress", "never", "--imbalance", "20@rank:0", "--timeline", timeline,
                      ranks=2)
        spans = self.read(timeline)["spans"]
        # The middle step of each rank, and far less than the factor: other programs may interrupt some steps.
        dear, even = (statistics.median(s[4] - s[3] for s in spans if s[0] == rank and s[2] == 0) for rank in range(2))
        self.assertGreater(dear, 4 * even)

    def test_progress_is_drawn_where_it_is_asked_for(self):
        self.assertRegex(self.accepted("--grid", "60x40", "--iterations", "5", "--progress", "always").stderr, "mpi .* of [0-9]+ steps")
        self.assertEqual("", self.accepted(*SMALL).stderr)

    def test_timeline_has_a_span_for_each_step_and_is_drawn(self):
        timeline, picture = self.file("timeline.json"), self.file("picture.png")
        self.accepted(*SMALL, "--lines", "13", "--grids", "2", "--variant", "coroutine", "--timeline", timeline, ranks=2)
        run_of = self.read(timeline)
        fields = run_of["span_fields"]
        steps = sorted((s[fields.index("rank")], s[fields.index("row")], s[fields.index("iteration")]) for s in run_of["spans"])
        self.assertEqual(steps, [(rank, grid, step) for rank in range(2) for grid in range(2) for step in range(2 * 3)])
        self.draws(PLOT, timeline, picture, picture=picture)
        self.refuses_timelines_of_another_form(PLOT, timeline, behind=[picture])
        unwritable = self.plot(PLOT, timeline, self.file("no/such.png"))
        self.assertEqual((unwritable.returncode, unwritable.stderr.count("\n")), (1, 1), unwritable.stderr)
        self.assertIn("plot.py: " + self.file("no/such.png"), unwritable.stderr)

    def test_plots_refuse_other_files(self):
        self.refuses_other_files(PLOT, ([], [self.file("picture.png")]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
