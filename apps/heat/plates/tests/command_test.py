#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Command line and JSON of heat_plates. Arguments: the program, the same on an MPI with a fault, then the launcher and its options."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../common/tests"))
from command import CommandTest, Program


class Command(CommandTest):
    program = Program(sys.argv[1], sys.argv[3:])
    faulty = Program(sys.argv[2], sys.argv[3:])

    def test_help_names_options_variants_and_exit_status(self):
        self.help_has("--plates", "--mirrored", "--spread", "forkjoin", "callbacks", "coroutine")

    def test_wrong_usage_is_refused(self):
        self.refuses_what_every_application_refuses("--size", "8x8", files=["--json"])
        self.refused("--timeline", "run.json", text="--timeline")  # no variant records one
        self.refused("--imbalance", "2@area:0,0,1,inf", text="from 0 to 1")
        self.refused("--imbalance", "5@rank:1", text="there is no rank 1, only 0 to 0")
        self.refused("--imbalance", "5@zones:1", text="'zones' is unknown")
        self.refused("--size", "big", text="'big' is not a size; write ROWSxCOLUMNS")
        self.refused("--size", "0x5", text="size 0 x 5 is out of range")
        self.refused("--plates", "0", text="--plates")
        self.refused("--plates", "65", text="--plates")
        self.refused("--block", "0", text="--block")
        self.refused("--iterations", "0", text="--iterations")

    def test_more_ranks_than_rows_are_refused_once(self):
        self.refused("--size", "1x8", ranks=2, text="--size: 1 rows are too few for 2 ranks")
        self.refused("--size", "3x8", ranks=4, text="3 rows are too few for 4 ranks")
        self.accepted("--size", "2x9", "--iterations", "3", "--verify", ranks=2)

    def test_a_wrong_value_is_named_by_the_first_rank_that_has_it(self):
        # Rank 0 sends the wrong values, and in one iteration it receives none that depend on them.
        for variant in ("mpi", "forkjoin", "waitany", "callbacks", "coroutine"):
            for ranks in (2, 4):
                with self.subTest(variant=variant, ranks=ranks):
                    file = self.file("run.json")
                    output = self.refused("--size", "40x30", "--block", "10", "--iterations", "1", "--plates", "2", "--variant", variant,
                                          "--verify", "--json", file, ranks=ranks, program=self.faulty,
                                          env={"FAULT": "wrong_value"}, status=3, text="heat_plates: rank 1: ")
                    column = 29 if variant == "forkjoin" else 9  # the last of a message
                    text, found, expected, difference = re.search(
                        rf"(rank 1: plate 0, row {40 // ranks}, column {column}: found (\S+), expected (\S+), difference (\S+))\n",
                        output).groups()
                    self.assertEqual(float(found) - float(expected), float(difference))
                    self.assertNotEqual(float(difference), 0)
                    self.assertNotRegex(output, "rank [023]:")
                    self.assertRegex(output, f"{variant} .* WRONG")
                    self.assertEqual(self.read(file)["values"], text)

    def test_values_are_compared_only_on_request(self):
        result = self.accepted("--size", "40x30", "--iterations", "1", ranks=2, program=self.faulty, env={"FAULT": "wrong_value"})
        self.assertIn("unchecked", result.stdout)

    def test_an_operation_that_fails_ends_the_program_with_its_error(self):
        result = self.faulty("--size", "40x30", "--variant", "callbacks", ranks=2, env={"FAULT": "truncated"})
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r": rank \d: solve_callbacks\.cpp:\d+: .*(?i:trunc)")

    def test_progress_is_drawn_where_it_is_asked_for(self):
        self.assertRegex(self.accepted("--size", "8x8", "--progress", "always").stderr, "mpi .* of 10 iterations")
        self.assertEqual("", self.accepted("--size", "8x8").stderr)

    def test_imbalance_costs_processor_time(self):
        def seconds(*extra):
            def used():  # to read the clock of a thread, as Dearer does, is a system call
                return os.times().children_user + os.times().children_system
            before = used()
            self.accepted("--progress", "never", *extra)
            return used() - before
        even = seconds()
        for dear in ("20@rank:0", "40@area:0,0,0.5,1"):
            self.assertGreater(seconds("--imbalance", dear), 2 * even, dear)

    def test_json_has_settings_and_result(self):
        found = self.report("--size", "40x50", "--plates", "3", "--block", "16", "--variant", "callbacks", "--verify", "--spread",
                            "--imbalance", "2@area:0,0,0.5,1")
        expected = {"variant": "callbacks", "ranks": 1, "plates": 3, "rows": 40, "cols": 50, "block": 16, "iterations": 10,
                    "values": "identical", "simulated": False, "spread": True, "mirrored": False, "imbalance": "2@area:0,0,0.5,1"}
        self.assertEqual({key: found[key] for key in expected}, expected)
        self.assertGreater(found["time_s"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
