#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Command line and files of streaming. Arguments: the program, the program on an MPI with a fault or `none`, then the launcher
and its options."""
import os
import re
import statistics
import sys
import unittest

APP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(APP, "../common/tests"))
from command import CommandTest, Program

STREAMING = Program(sys.argv[1], sys.argv[3:])
FAULTY = Program(sys.argv[2], sys.argv[3:])
PLOT = os.path.join(APP, "plot.py")
SMALL = ["--size", "1000", "--block", "128", "--chunks", "6", "--work", "2", "--progress", "never"]


def variants(*known):
    text = STREAMING("--help").stdout
    return [v for v in known if f"\n  {v} " in text]


MESSAGES = variants("mpi", "forkjoin", "tampi")  # by calls of MPI
PARALLEL = MESSAGES + variants("callbacks", "tagaspi", "tagaspi-tasks")


class Command(CommandTest):
    program = STREAMING

    def test_help_names_options_variants_and_exit_status(self):
        self.help_has("--lanes", "--imbalance", "serial", "mpi")

    def test_wrong_usage_is_refused(self):
        self.refuses_what_every_application_refuses(*SMALL)
        self.refused("--block", "0", text="--block")
        self.refused("--lanes", "2", text="--lanes: 1 ranks are no multiple of 2 lanes")
        self.refused("--imbalance", "5@area:0,0,1,1", text="'area' is unknown")
        self.refused("--imbalance", "5@rank:1", text="there is no rank 1, only 0 to 0")
        self.refused("--verify", "--size", "100000000", "--chunks", "100", text="--verify keeps all chunks, here more than 1 GiB")

    def test_what_does_not_fit_the_ranks_is_refused_once(self):
        self.refused(*SMALL, ranks=2, text="the variant serial runs on one rank; for 2 ranks use --variant mpi")
        self.refused("--variant", "mpi", "--size", "1", "--lanes", "2", ranks=2, text="1 numbers are too few for 2 lanes")
        self.refused("--variant", "mpi", "--functions", "1", ranks=2, text="--functions: 1 are too few for 2 stages")

    def test_more_blocks_than_notifications_are_refused_once(self):
        for variant, most in (("callbacks", 1 << 20), ("tagaspi", 1 << 16), ("tagaspi-tasks", 1 << 16)):
            if variant in PARALLEL:
                with self.subTest(variant=variant):
                    self.refused("--variant", variant, "--threads", "1", "--size", str(most + 1), "--block", "1", "--chunks", "1", ranks=2,
                                 text=f"a segment has {most} notifications, fewer than the {most + 1} that the blocks of a chunk need; "
                                      "use a larger --block")

    def test_progress_is_drawn_where_it_is_asked_for(self):
        self.assertRegex(self.accepted(*SMALL[:-1], "always").stderr, "serial .* of 6 chunks")
        self.assertEqual("", self.accepted(*SMALL).stderr)

    @unittest.skipIf(FAULTY.path == "none", "Thence is a static library")
    def test_a_wrong_value_in_a_message_is_found_in_every_variant(self):
        for variant in MESSAGES:
            with self.subTest(variant=variant):
                file = self.file("run.json")
                output = self.refused(*SMALL, "--variant", variant, "--threads", "1", "--verify", "--json", file, ranks=2, program=FAULTY,
                                      env={"FAULT": "wrong_value"}, status=3, text="streaming: rank 1: ")
                text, found, expected, difference = re.search(
                    r"(rank 1: chunk 0, number 127: found (\S+), expected (\S+), difference (\S+))\n", output).groups()
                self.assertEqual(float(found) - float(expected), float(difference))
                self.assertEqual(self.read(file)["values"], text)
                self.accepted(*SMALL, "--variant", variant, "--verify", ranks=2, program=FAULTY)  # without the fault

    def test_json_has_settings_and_result(self):
        for variant in PARALLEL:
            with self.subTest(variant=variant):
                found = self.report(*SMALL, "--variant", variant, "--threads", "1", "--functions", "3", "--verify", ranks=2)
                expected = {"variant": variant, "ranks": 2, "threads": 1, "size": 1000, "block": 128, "chunks": 6, "work": 2, "functions": 3,
                            "lanes": 1, "values": "identical"}
                self.assertEqual({key: found[key] for key in expected}, expected)
                self.assertGreater(found["updates_per_s"], 0)
                self.assertEqual(sum(r["messages_sent"] for r in found["ranks_detail"]), 6 * 8)
                self.assertAlmostEqual(sum(found["share_of_thread_time"].values()), 1, places=2)

    def test_imbalance_makes_a_rank_dearer_and_keeps_the_values(self):
        timeline = self.file("timeline.json")
        found = self.report("--size", "20000", "--block", "5000", "--chunks", "6", "--work", "30", "--variant", "mpi", "--verify", "--imbalance",
                            "20@rank:1", "--timeline", timeline, "--progress", "never", ranks=2)
        self.assertEqual((found["imbalance"], found["values"]), ("20@rank:1", "identical"))
        spans = self.read(timeline)["spans"]
        # The middle block of each rank, and far less than the factor: other programs may interrupt some blocks.
        even, dear = (statistics.median(s[4] - s[3] for s in spans if s[0] == rank and s[2] == 0) for rank in range(2))
        self.assertGreater(dear, 4 * even)

    def test_every_message_of_the_timeline_has_both_ends_and_is_drawn(self):
        picture = self.file("picture.png")
        for variant in PARALLEL:
            with self.subTest(variant=variant):
                timeline = self.file(f"{variant}.json")
                self.accepted(*SMALL, "--variant", variant, "--threads", "2", "--timeline", timeline, ranks=2)
                data = self.read(timeline)
                self.assertEqual(len(self.both_ends(data)[1]), 6 * 8)
                blocks = [(s[0], s[5], s[7]) for s in data["spans"] if s[2] == 0]
                self.assertEqual((len(blocks), len(set(blocks))), (2 * 6 * 8, 2 * 6 * 8))
        self.refuses_timelines_of_another_form(PLOT, self.file("mpi.json"), before=["pipeline"])
        self.draws(PLOT, "pipeline", *(self.file(f"{v}.json") for v in PARALLEL), "-o", picture, picture=picture)

    def test_a_worker_goes_on_while_a_receive_is_outstanding(self):
        for variant in variants("tampi"):
            timeline = self.file("timeline.json")
            for _ in range(5):  # a rank that gets its processor late finds all its messages there
                self.accepted(*SMALL, "--variant", variant, "--threads", "1", "--timeline", timeline, ranks=2)
                data = self.read(timeline)
                computed = [s for s in data["spans"] if s[2] == 0]
                during = [m for m in data["messages"] if not m[2] and any(s[:2] == m[:2] and m[8] <= s[3] and s[4] <= m[9] for s in computed)]
                if during:
                    break
            self.assertNotEqual(during, [], "no block was computed by the thread of a receive that was outstanding")

    def test_plots_refuse_other_files(self):
        self.refuses_other_files(PLOT, (["pipeline"], []))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
