#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Command line and files of amr. Arguments: the program, the program on an MPI with a fault or `none`, then the launcher and its
options."""
import os
import re
import statistics
import sys
import unittest

APP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(APP, "../common/tests"))
from command import CommandTest, Program

AMR = Program(sys.argv[1], sys.argv[3:])
FAULTY = Program(sys.argv[2], sys.argv[3:])
PLOT = os.path.join(APP, "plot.py")
SMALL = ["--block", "4", "--variables", "2", "--steps", "4", "--refine-every", "2", "--levels", "1", "--progress", "never"]


def variants(*known):
    text = AMR("--help").stdout
    return [v for v in known if f"\n  {v} " in text]


MESSAGES = variants("mpi", "forkjoin", "tampi")  # by calls of MPI
PARALLEL = MESSAGES + variants("callbacks", "tagaspi")


class Command(CommandTest):
    program = AMR

    def test_help_names_options_variants_and_exit_status(self):
        self.help_has("--faces", "--imbalance", "--object", "serial", "mpi")

    def test_wrong_usage_is_refused(self):
        self.refuses_what_every_application_refuses(*SMALL, files=("--json", "--timeline", "--mesh"))
        self.refused("--block", "5", text="--block: 5 is odd; a refined block halves its cells")
        self.refused("--roots", "2x2", text="--roots: '2x2' is no mesh; write AxBxC")
        self.refused("--roots", "0x2x2", text="each from 1 to 64")
        self.refused("--object", "1,2,3", text="'1,2,3' is no object; write X,Y,Z,RADIUS,DX,DY,DZ")
        self.refused("--imbalance", "5@zones:1", text="'zones' is unknown; known are rank, area")
        self.refused("--imbalance", "5@rank:1", text="there is no rank 1, only 0 to 0")
        self.refused(*SMALL, ranks=2, text="the variant serial runs on one rank; for 2 ranks use --variant mpi")

    def test_progress_is_drawn_where_it_is_asked_for(self):
        self.assertRegex(self.accepted(*SMALL[:-1], "always").stderr, "serial .* of 4 steps")
        self.assertEqual("", self.accepted(*SMALL).stderr)

    @unittest.skipIf(FAULTY.path == "none", "Thence is a static library")
    def test_a_wrong_value_in_a_message_is_found_in_every_variant(self):
        for variant in MESSAGES:
            with self.subTest(variant=variant):
                file = self.file("run.json")
                args = ["--block", "4", "--variables", "2", "--steps", "1", "--stages", "1", "--levels", "0", "--progress", "never", "--variant",
                        variant, "--threads", "1", "--verify"]
                output = self.refused(*args, "--json", file, ranks=2, program=FAULTY, env={"FAULT": "wrong_value"}, status=3,
                                      text="amr: rank 0: block ")
                text, found, expected, difference = re.search(
                    r"(rank 0: block \d, variable 1, cell \(\d, \d, \d\): found (\S+), expected (\S+), difference (\S+))\n", output).groups()
                self.assertEqual(float(found) - float(expected), float(difference))
                self.assertNotEqual(float(difference), 0)
                self.assertEqual(self.read(file)["cells"], text)
                self.accepted(*args, ranks=2, program=FAULTY)  # without the fault

    @unittest.skipIf(FAULTY.path == "none" or "tagaspi" not in PARALLEL, "Thence is a static library, or no TAGASPI")
    def test_more_messages_than_notifications_are_refused(self):
        args = [*SMALL, "--variant", "tagaspi", "--threads", "1"]
        output = self.refused(*args, "--faces", "1", ranks=2, program=FAULTY, env={"FAULT": "few_notifications"},
                              text="that the messages of a rank need; use a larger --faces")
        self.assertRegex(output, "a segment has 3 notifications, fewer than the [1-9][0-9]* that")
        self.assertNotIn("not freed", output)
        self.accepted(*args, "--faces", "1000", ranks=2, program=FAULTY, env={"FAULT": "few_notifications"})

    def test_json_has_settings_and_result(self):
        for variant in PARALLEL:
            with self.subTest(variant=variant):
                found = self.report(*SMALL, "--variant", variant, "--threads", "1", "--faces", "3", "--verify", ranks=2)
                expected = {"variant": variant, "ranks": 2, "threads": 1, "block": 4, "variables": 2, "steps": 4, "levels": 1, "faces": 3,
                            "cells": "identical"}
                self.assertEqual({key: found[key] for key in expected}, expected)
                self.assertGreater(found["updates_per_s_without_refinement"], found["updates_per_s"])
                self.assertGreater(found["serial_time_s"], 0)
                self.assertAlmostEqual(sum(found["share_of_thread_time"].values()), 1, places=2)

    def test_imbalance_makes_blocks_dearer_and_keeps_the_cells(self):
        timeline = self.file("timeline.json")
        found = self.report("--block", "16", "--steps", "4", "--levels", "1", "--variant", "mpi", "--verify", "--imbalance", "20@rank:1",
                            "--timeline", timeline, "--progress", "never", ranks=2)
        self.assertEqual((found["imbalance"], found["cells"]), ("20@rank:1", "identical"))
        spans = self.read(timeline)["spans"]
        # The middle block of each rank, and far less than the factor: other programs may interrupt some blocks.
        even, dear = (statistics.median(s[4] - s[3] for s in spans if s[0] == rank and s[2] == 0) for rank in range(2))
        self.assertGreater(dear, 4 * even)

    def test_every_message_of_the_timeline_has_both_ends_and_is_drawn(self):
        picture = self.file("picture.png")
        for variant in PARALLEL:
            with self.subTest(variant=variant):
                timeline = self.file(f"{variant}.json")
                found = self.report(*SMALL, "--variant", variant, "--threads", "2", "--timeline", timeline, ranks=2)
                data = self.read(timeline)
                sent = self.both_ends(data)[1]
                self.assertEqual(sum(r["messages_sent"] for r in found["ranks_detail"]), len(sent))
                self.assertEqual(len(sent) % 2, 0)
                blocks = [(s[5], s[7]) for s in data["spans"] if s[2] == 0]  # stage and leaf
                self.assertEqual(len(blocks), len(set(blocks)))
                self.assertEqual({stage for stage, _ in blocks}, set(range(8)))
        self.refuses_timelines_of_another_form(PLOT, self.file("mpi.json"), before=["timeline"])
        self.draws(PLOT, "timeline", *(self.file(f"{v}.json") for v in PARALLEL), "-o", picture, picture=picture)

    def test_meshes_are_written_and_drawn(self):
        mesh, picture = self.file("mesh.json"), self.file("mesh.png")
        found = self.report(*SMALL, "--variant", "mpi", "--mesh", mesh, ranks=2)
        data = self.read(mesh)
        self.assertEqual(data["block_fields"], ["step", "level", "x", "y", "z", "rank"])
        for step in (0, 2):
            blocks = [b for b in data["blocks"] if b[0] == step]
            self.assertAlmostEqual(sum(8.0 ** -b[1] for b in blocks), 8)  # they cover the 8 roots
            self.assertEqual({b[5] for b in blocks}, {0, 1})
        self.assertEqual(len([b for b in data["blocks"] if b[0] == 2]), found["blocks"])
        self.draws(PLOT, "mesh", mesh, "-o", picture, picture=picture)

    def test_plots_refuse_other_files(self):
        self.refuses_other_files(PLOT, (["timeline"], []))
        for content, text in (("{}", "has no roots"), ("[1]", "is no object"), ("P5", "Expecting value")):
            other = self.file("other.json", content.encode())
            drawn = self.plot(PLOT, "mesh", other)
            self.assertIn(f"plot.py: {other}", drawn.stderr)
            self.assertIn(text, drawn.stderr)
            self.assertEqual((drawn.returncode, drawn.stderr.count("\n")), (1, 1), drawn.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
