#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Command line and files of offload, and whether a wrong result is found. Arguments: the program, the same on an MPI with a fault
(or none), then the launcher and its options."""
import os
import sys
import unittest

APP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(APP, "../common/tests"))
from command import CommandTest, Program

PLOT = os.path.join(APP, "plot.py")
SMALL = ["--threads", "1", "--cells", "5", "--steps", "6", "--task-us", "20", "--progress", "never"]


class Command(CommandTest):
    program = Program(sys.argv[1], sys.argv[3:])
    faulty = Program(sys.argv[2], sys.argv[3:])

    def test_help_names_options_variants_and_exit_status(self):
        self.help_has("--slow", "--every", "none", "polling", "continuations")

    def test_wrong_usage_is_refused(self):
        self.refused("--cells", "0", text="--cells")
        self.refused("--steps", "x", text="--steps")
        self.refused("--slow", "2@zones:0", text="'zones' is unknown")
        self.refused("--slow", "2@rank:0", "--imbalance", "2@rank:0", text="use this or --imbalance")
        self.refused("--every", "5", text="--every: no rank is dear or slow; add for example --slow 2@rank:0")
        for option in ("--slow", "--imbalance"):
            self.refused(*SMALL, option, "2@rank:0,2", ranks=2, text=f"{option} '2@rank:0,2': there is no rank 2, only 0 to 1")

    def test_json_has_a_row_for_each_step_of_each_rank_and_is_drawn(self):
        file, picture = self.file("run.json"), self.file("run.png")
        self.accepted(*SMALL, "--slow", "2@rank:1", "--json", file, ranks=2)
        found = self.read(file)
        expected = {"variant": "continuations", "ranks": 2, "cells": 5, "steps": 6, "factor": 2, "slow_rank": True, "values": "right"}
        self.assertEqual({key: found[key] for key in expected}, expected)
        self.assertEqual([row[:2] for row in found["rows"]], [[rank, step] for rank in range(2) for step in range(6)])
        own, foreign, offloaded = (sum(row[found["step_fields"].index(name)] for row in found["rows"])
                                   for name in ("own", "foreign", "offloaded"))
        self.assertEqual((own + foreign, foreign), (2 * 5 * 6, offloaded))
        self.draws(PLOT, file, picture, picture=picture)

    @unittest.skipIf(sys.argv[2] == "none", "Thence is a static library")
    def test_a_wrong_value_in_a_message_is_found(self):
        args = ["--threads", "1", "--cells", "12", "--steps", "15", "--task-us", "300", "--progress", "never"]
        for variant in ("polling", "continuations"):
            for slow in (0, 1):  # rank 0 mostly sends inputs of its cells to rank 1, or results of cells of rank 1
                with self.subTest(variant=variant, slow=slow):
                    file = self.file("run.json")
                    output = self.refused(*args, "--variant", variant, "--slow", f"6@rank:{slow}", "--json", file, ranks=2,
                                          program=self.faulty, env={"FAULT": "wrong_data"}, status=3, text="offload: rank ")
                    self.assertRegex(output, f"{variant} .* WRONG")
                    self.assertRegex(self.read(file)["values"], "^rank [01]: step [0-9]+, cell [0-9]+, value 2047$")
        self.accepted(*args, "--slow", "6@rank:0", ranks=2, program=self.faulty)

    @unittest.skipIf(sys.argv[2] == "none", "Thence is a static library")
    def test_a_message_that_fails_ends_the_program_with_its_error_on_all_threads(self):
        for threads in ("1", "3"):
            with self.subTest(threads=threads):
                ran = self.faulty("--threads", threads, "--cells", "12", "--steps", "50", "--task-us", "300", "--progress", "never",
                                  "--slow", "6@rank:0", ranks=2, env={"FAULT": "truncated"})
                self.assertEqual(ran.returncode, 1, ran.stderr)
                self.assertIn("offload: a message of an offloaded task, or another rank has broken off", ran.stderr)
                self.assertNotIn("terminate called", ran.stderr)

    def test_plots_refuse_other_files(self):
        self.refuses_other_files(PLOT, ([], [self.file("picture.png")]))

    def test_progress_is_drawn_where_it_is_asked_for(self):
        self.assertRegex(self.accepted(*SMALL[:-1], "always").stderr, "continuations .* of 6 steps")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
