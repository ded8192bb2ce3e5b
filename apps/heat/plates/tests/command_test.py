#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Command line and JSON of heat_plates. Arguments: the program, the same on an MPI with a fault, then the launcher and its options."""
import json
import os
import re
import sys
import unittest

HEAT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(HEAT, "../common/tests"))
from command import CommandTest, Program

PLOT = os.path.join(HEAT, "plot.py")
VARIANTS = ("mpi", "forkjoin", "waitany", "callbacks", "coroutine")
SMALL = ["--size", "41x50", "--block", "16", "--iterations", "5", "--plates", "3", "--progress", "never"]
COMPUTE, START, WAIT, POLL = range(4)


class Command(CommandTest):
    program = Program(sys.argv[1], sys.argv[3:])
    faulty = Program(sys.argv[2], sys.argv[3:])

    def test_help_names_options_variants_and_exit_status(self):
        self.help_has("--plates", "--mirrored", "--spread", "--timeline-capacity", *VARIANTS)

    def test_wrong_usage_is_refused(self):
        self.refuses_what_every_application_refuses("--size", "8x8")
        self.refused("--timeline-capacity", "0", text="--timeline-capacity")
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
        for variant in VARIANTS:
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
        self.assertRegex(result.stderr, r": rank \d: solve_callbacks\.cpp:\d+: (?is:.*trunc)")

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

    def timeline(self, *args, ranks):
        """What --timeline writes. No span of a rank begins before the one before has ended."""
        file = self.file("timeline.json")
        self.assertIn("identical", self.accepted(*SMALL, *args, "--verify", "--timeline", file, ranks=ranks).stdout)
        data = self.read(file)
        for rank in range(ranks):
            spans = sorted((s[3], s[4]) for s in data["spans"] if s[0] == rank)
            for (begin, end), (following, _) in zip(spans, spans[1:]):
                self.assertLessEqual(begin, end)
                self.assertLessEqual(end, following)
        return data

    def test_a_timeline_has_every_step_and_both_ends_of_every_message(self):
        for variant in VARIANTS:
            for ranks, where in ((1, ()), (2, ("--mirrored",)), (4, ("--mirrored", "--spread"))):
                with self.subTest(variant=variant, ranks=ranks):
                    data = self.timeline("--variant", variant, *where, ranks=ranks)
                    self.assertEqual((data["variant"], data["ranks"], data["iterations"]), (variant, ranks, 5))
                    # 4 pieces, of which the last is narrower.
                    steps = sorted((s[0], s[6], s[5], s[7]) for s in data["spans"] if s[2] == COMPUTE)
                    self.assertEqual(steps, [(rank, plate, iteration, piece) for rank in range(ranks) for plate in range(3)
                                             for iteration in range(5) for piece in range(4)])
                    received, sent = self.both_ends(data)
                    pieces = 1 if variant == "forkjoin" else 4
                    self.assertEqual(len(sent), 3 * (ranks - 1) * pieces * (5 + 4))  # 5 iterations to the band below, 4 to that above
                    self.assertEqual(sum(m[7] for m in data["messages"] if m[2]), 3 * (ranks - 1) * 50 * (5 + 4))
                    self.assertEqual({m[6] // 4 for m in data["messages"]}, set(range(3)) if ranks > 1 else set())  # the plates
                    # A step begins when the message that it needs is complete, and sends afterwards.
                    begin = {(s[0], s[6], s[5], s[7]): s[3] for s in data["spans"] if s[2] == COMPUTE}
                    end = {(s[0], s[6], s[5], s[7]): s[4] for s in data["spans"] if s[2] == COMPUTE}
                    for (source, target, below, iteration, col), (_, complete) in received.items():
                        step = (target, col // 4, iteration if below else iteration + 1, col % 4)
                        self.assertLessEqual(complete, begin[step])
                        made = (source, col // 4, iteration, 3 if variant == "forkjoin" else col % 4)
                        self.assertLessEqual(end[made], sent[source, target, below, iteration, col][0])

    def test_a_rank_that_waits_is_seen(self):
        # The other rank computes for much longer. `callbacks` polls and soon sleeps between two polls. `coroutine` waits inside the
        # library, which is no span.
        for variant, activity, share in (("mpi", WAIT, 0.3), ("forkjoin", WAIT, 0.3), ("waitany", WAIT, 0.3), ("callbacks", POLL, 0.01),
                                         ("coroutine", None, 0)):
            with self.subTest(variant=variant):
                spans = self.timeline("--variant", variant, "--imbalance", "200@rank:1", ranks=2)["spans"]
                time = {kind: sum(s[4] - s[3] for s in spans if s[0] == 0 and s[2] == kind) for kind in (COMPUTE, START, WAIT, POLL)}
                other = sum(s[4] - s[3] for s in spans if s[0] == 1 and s[2] == COMPUTE)
                if activity is not None:
                    self.assertGreater(time[activity], share * other)
                    self.assertGreater(time[activity], 2 * sum(time[kind] for kind in (WAIT, POLL) if kind != activity))
                else:
                    self.assertEqual(time[WAIT] + time[POLL], 0)

    def test_a_timeline_that_is_too_long_is_cut_and_says_so(self):
        file = self.file("timeline.json")
        output = self.accepted(*SMALL, "--timeline", file, "--timeline-capacity", "7", ranks=2).stdout
        self.assertRegex(output, r"timeline: [1-9]\d+ intervals and messages were not recorded; raise --timeline-capacity")
        data = self.read(file)
        self.assertEqual((len(data["spans"]), len(data["messages"])), (2 * 7, 2 * 7))
        self.assertNotIn("timeline", self.accepted(*SMALL, ranks=2).stdout)

    def test_timelines_are_drawn_and_others_refused(self):
        picture, file = self.file("picture.png"), self.file("timeline.json")
        self.timeline("--variant", "callbacks", ranks=2)
        self.draws(PLOT, "timeline", file, "-o", picture, picture=picture)
        self.refuses_timelines_of_another_form(PLOT, file, before=["timeline"])
        changed = self.read(file)
        changed["span_fields"][6] = "row"  # as heat names it
        other = self.file("heat.json", json.dumps(changed).encode())
        drawn = self.plot(PLOT, "timeline", file, other, "-o", picture)
        self.assertIn(f"plot.py: {other} and {file}: only one of them has several plates", drawn.stderr)
        self.assertEqual((drawn.returncode, drawn.stderr.count("\n")), (1, 1), drawn.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
