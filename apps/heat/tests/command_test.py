#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Command line and files of heat. Arguments: the program, the program on an MPI with a fault
or `none`, then the launcher and its options."""
import os
import re
import statistics
import struct
import sys
import unittest

APP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(APP, "../common/tests"))
from command import CommandTest, Program

HEAT = Program(sys.argv[1], sys.argv[3:])
FAULTY = Program(sys.argv[2], sys.argv[3:])
PLOT = os.path.join(APP, "plot.py")
SOURCES = os.path.join(APP, "configs", "sources.cfg")
SMALL = ["--size", "48x40", "--block", "8", "--iterations", "6", "--progress", "never"]


def variants():
    text = HEAT("--help").stdout
    return [v for v in ("mpi", "callbacks", "forkjoin", "omp-tasks", "tbb", "tampi-blocking", "tampi-iwait", "dataflow", "tagaspi")
            if f"\n  {v} " in text]


class Command(CommandTest):
    program = HEAT

    def test_help_names_options_variants_and_exit_status(self):
        self.help_has("--verify", "serial", "mpi")

    def test_wrong_usage_is_refused(self):
        self.refused(text="config is required")
        self.refuses_what_every_application_refuses(SOURCES, *SMALL, files=("--json", "--timeline", "--field", "--start"))
        self.refused(SOURCES, "--size", "4by4", text="ROWSxCOLUMNS")
        self.refused(SOURCES, "--iterations", "0", text="command line: iterations is 0")
        self.refused("no-such.cfg", text="no-such.cfg: cannot read this file")

    def test_an_empty_configuration_is_all_defaults(self):
        self.accepted(self.file("empty.cfg", b""), "--size", "16x16", "--block", "8", "--iterations", "2")
        self.refused(APP, text="cannot read this file")

    def test_errors_of_the_configuration_come_once_and_with_their_line(self):
        bad = self.file("bad.cfg", b"size = 8 x 8\nblok = 3\n")
        self.refused(bad, "--variant", "mpi", ranks=2, text="bad.cfg:2: unknown key 'blok'; did you mean 'block'?")

    def test_a_bad_picture_is_refused_by_name(self):
        self.file("cut.pgm", b"P5 4 4 255 abc")
        plate = self.file("plate.cfg", b"size = 8 x 8\npicture = cut.pgm\n")
        self.refused(plate, text="cut.pgm: the file is too short: 16 bytes of pixels expected, 3 found")
        plate = self.file("plate.cfg", b"size = 8 x 8\npicture = none.pgm\n")
        self.refused(plate, text="none.pgm: cannot read this file")

    def test_more_ranks_than_rows_of_blocks_are_refused(self):
        self.refused(SOURCES, "--variant", "mpi", "--size", "8x8", "--block", "8", ranks=2, text="use fewer ranks or --block 4")

    def test_more_messages_than_notifications_are_refused(self):
        for variant, most in (("callbacks", 1 << 20), ("tagaspi", 1 << 16)):
            if variant in variants():
                with self.subTest(variant=variant):
                    self.refused(SOURCES, "--variant", variant, "--threads", "1", "--size", f"2x{most // 2 + 1}", "--block", "1",
                                 "--iterations", "1", ranks=2, text=f"a segment has {most} notifications, fewer than the {most + 2} that the "
                                 "blocks of a row need, two for each; use a larger --block")

    def test_serial_on_two_ranks_is_refused(self):
        self.refused(SOURCES, ranks=2, text="the variant serial runs on one rank; for 2 ranks use --variant mpi")

    def test_progress_is_drawn_where_it_is_asked_for(self):
        self.assertRegex(self.accepted(SOURCES, *SMALL[:-1], "always").stderr, "serial .* of 6 iterations")
        self.assertEqual("", self.accepted(SOURCES, *SMALL).stderr)

    def test_imbalance_changes_the_cost_and_not_the_field(self):
        timeline = self.file("timeline.json")
        # Which of two middle blocks is the more expensive one, by rank or by column. Some blocks are interrupted by other programs.
        for where, is_dear in (("rank:1", lambda s: s[0] == 1), ("area:0,0,0.5,1", lambda s: s[7] < 2)):
            data = self.report(SOURCES, "--size", "96x160", "--block", "32", "--iterations", "12", "--progress", "never", "--variant", "mpi",
                               "--verify", "--imbalance", f"30@{where}", "--timeline", timeline, ranks=2)
            self.assertEqual(data["imbalance"], f"30@{where}")
            spans = [s for s in self.read(timeline)["spans"] if s[2] == 0 and s[7] != 2]  # column 2 is in the middle of the plate
            dear, even = (statistics.median(s[4] - s[3] for s in spans if is_dear(s) == which) for which in (True, False))
            self.assertGreater(dear, 4 * even, where)
        self.refused(SOURCES, "--imbalance", "5@zones:1", text="'zones' is unknown; known are rank, area")
        self.refused(SOURCES, "--imbalance", "5@rank:1", text="there is no rank 1, only 0 to 0")

    def test_a_field_that_differs_in_one_bit_is_found(self):
        field = self.file("field.npy")
        self.accepted(SOURCES, *SMALL, "--field", field)
        same = self.accepted(SOURCES, *SMALL, "--variant", "mpi", "--reference", field, ranks=2)
        self.assertIn("bit-identical", same.stdout)
        with open(field, "r+b") as data:
            data.seek(-8, os.SEEK_END)
            bits, = struct.unpack("<Q", data.read(8))
            data.seek(-8, os.SEEK_END)
            data.write(struct.pack("<Q", bits ^ 1))
        output = self.refused(SOURCES, *SMALL, "--reference", field, text=f"DIFFERS from {field} in 1 of 1920 cells, ", status=3)
        found, expected, difference, most = map(float, re.search(
            r"the first: row 47, column 39: found (\S+), expected (\S+), difference (\S+); the largest difference is (\S+)\n",
            output).groups())
        self.assertNotEqual(found, expected)
        self.assertEqual(found - expected, difference)
        self.assertAlmostEqual(most, abs(difference), delta=0.01 * most)
        more = [*SMALL[:-3], "7", *SMALL[-2:]]
        self.refused(SOURCES, *more, "--reference", field, text="DIFFERS from", status=3)

    @unittest.skipIf(FAULTY.path == "none", "Thence is a static library")
    def test_a_wrong_value_in_a_message_is_found_in_every_variant(self):
        for variant in variants():
            if variant in ("callbacks", "tagaspi"):
                continue  # their messages are no calls of MPI in this program
            with self.subTest(variant=variant):
                file = self.file("run.json")
                output = self.refused(SOURCES, "--size", "40x30", "--block", "10", "--iterations", "1", "--progress", "never", "--variant",
                                      variant, "--threads", "1", "--verify", "--json", file, ranks=2, program=FAULTY,
                                      env={"FAULT": "wrong_value"}, status=3, text="field: DIFFERS from the serial run in ")
                column = 29 if variant == "forkjoin" else 9  # the last of the first message that rank 1 receives
                text, found, expected, difference = re.search(
                    rf"field: (DIFFERS .* the first: row 20, column {column}: found (\S+), expected (\S+), difference (\S+); .*)\n",
                    output).groups()
                self.assertEqual(float(found) - float(expected), float(difference))
                self.assertNotEqual(float(difference), 0)
                self.assertEqual(self.read(file)["field"]["text"], text)
                self.accepted(SOURCES, *SMALL, "--variant", variant, "--verify", ranks=2, program=FAULTY)  # without the fault

    def test_no_file_is_written_if_one_of_them_cannot_be(self):
        self.refused(SOURCES, *SMALL, "--json", self.file("run.json"), "--field", self.file("no/such.npy"), text="cannot write")
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_a_reference_that_is_no_field_is_refused(self):
        for content, text in ((b"", "not a NumPy file"), (b"\x93NUMPY\x01\x00\x05\x00abcde", "not a two-dimensional array")):
            self.refused(SOURCES, *SMALL, "--reference", self.file("bad.npy", content), text=text)

    def test_every_message_of_the_timeline_has_both_ends_in_order(self):
        for variant in variants():
            with self.subTest(variant=variant):
                timeline = self.file("timeline.json")
                summary = self.report(SOURCES, *SMALL, "--variant", variant, "--threads", "2", "--verify", "--timeline", timeline, ranks=2)
                data = self.read(timeline)
                pieces = 1 if variant == "forkjoin" else 5
                sent = self.both_ends(data)[1]
                self.assertEqual(len(sent), pieces * (6 + 5))  # 6 iterations down, 5 up
                blocks = [(s[0], s[5], s[6], s[7]) for s in data["spans"] if s[2] == 0]
                self.assertEqual(len(blocks), len(set(blocks)))
                self.assertEqual(len(blocks), 6 * (10 if variant == "mpi" else 30))
                self.assertEqual(summary["field"]["verdict"], "identical")
                self.assertEqual(sum(r["messages_sent"] for r in summary["ranks_detail"]), len(sent))
                if variant in ("omp-tasks", "tbb"):  # every operation ended in one continuation or at once
                    counts = summary["thence"]
                    self.assertEqual(counts["attached"] + counts["immediate"], 2 * len(sent))
                self.assertAlmostEqual(sum(summary["share_of_thread_time"].values()), 1, places=2)

    def test_a_worker_goes_on_while_a_receive_is_outstanding(self):
        for variant in ("tampi-blocking", "tampi-iwait", "dataflow"):
            if variant not in variants():
                continue
            with self.subTest(variant=variant):
                timeline = self.file("timeline.json")
                self.accepted(SOURCES, *SMALL, "--variant", variant, "--threads", "1", "--timeline", timeline, ranks=2)
                data = self.read(timeline)
                sweeps = [s for s in data["spans"] if s[2] == 0]
                receives = [m for m in data["messages"] if not m[2]]
                during = [m for m in receives
                          if any(s[:2] == m[:2] and m[8] <= s[3] and s[4] <= m[9] for s in sweeps)]
                self.assertNotEqual(during, [], "no block was swept by the thread of a receive that was outstanding")

    def test_the_variants_of_tampi_know_nothing_of_thence_but_their_tasks(self):
        with open(os.path.join(APP, "solve_tampi.cpp"), encoding="utf-8") as text:
            source = text.read()
        self.assertIn("<TAMPI.h>", source)
        self.assertNotIn("thence", source)

    def test_the_table_refuses_runs_that_were_not_compared(self):
        self.report(SOURCES, *SMALL, "--variant", "mpi", ranks=2)
        self.assertEqual(self.plot(PLOT, "table", "--check", self.file("run.json")).returncode, 3)
        self.report(SOURCES, *SMALL, "--variant", "mpi", "--verify", ranks=2)
        table = self.plot(PLOT, "table", "--check", self.file("run.json"))
        self.assertEqual(table.returncode, 0, table.stderr)
        self.assertIn("identical", table.stdout)

    def test_plots_refuse_other_files(self):
        self.refuses_other_files(PLOT, (["table"], []), (["bars"], []), (["timeline"], []))

    def test_timelines_and_fields_are_drawn_and_others_refused(self):
        timeline, field, picture = self.file("timeline.json"), self.file("field.npy"), self.file("picture.png")
        self.accepted(SOURCES, *SMALL, "--variant", "mpi", "--timeline", timeline, "--field", field, ranks=2)
        self.draws(PLOT, "timeline", timeline, "-o", picture, picture=picture)
        self.refuses_timelines_of_another_form(PLOT, timeline, before=["timeline"])
        os.remove(picture)
        self.draws(PLOT, "field", field, "-o", picture, picture=picture)
        for content, text in ((b"", ""), (b"P5", ""), (b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }            \n" + 8 * b"\0",
                                                       "no two-dimensional array")):
            drawn = self.plot(PLOT, "field", self.file("bad.npy", content), "-o", picture)
            self.assertIn(f"plot.py: {self.file('bad.npy')}", drawn.stderr)
            self.assertIn(text, drawn.stderr)
            self.assertEqual((drawn.returncode, drawn.stderr.count("\n")), (1, 1), drawn.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
