#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Command line and files of heat. Arguments: the program, then the launcher with its flags for two ranks."""
import json
import os
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../common/tests"))
from plots import refuse_other_files

HEAT, *LAUNCH = sys.argv[1:]
APP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = os.path.join(APP, "configs", "sources.cfg")
SMALL = ["--size", "48x40", "--block", "8", "--iterations", "6", "--progress", "never"]


def run(*args, ranks=1):
    command = [*(LAUNCH if ranks == 2 else []), HEAT, *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


def variants():
    text = run("--help").stdout
    return [v for v in ("mpi", "forkjoin", "omp-tasks", "tbb", "tampi-blocking", "tampi-iwait", "dataflow") if f"\n  {v} " in text]


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, content=None):
        path = os.path.join(self.folder.name, name)
        if content is not None:
            with open(path, "wb") as out:
                out.write(content)
        return path

    def refused(self, *args, text, status=2, ranks=1):
        result = run(*args, ranks=ranks)
        self.assertIn(text, result.stdout + result.stderr)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout + result.stderr

    def test_help_names_options_variants_and_exit_status(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for word in ("--variant", "--verify", "serial", "mpi", "Exit status"):
            self.assertIn(word, result.stdout)

    def test_wrong_usage_is_refused(self):
        self.refused(text="config is required")
        self.refused(SOURCES, "--variant", "magic", text="--variant")
        self.refused(SOURCES, "--no-such-option", text="--no-such-option")
        self.refused(SOURCES, "--size", "4by4", text="ROWSxCOLUMNS")
        self.refused(SOURCES, "--iterations", "0", text="command line: iterations is 0")
        self.refused("no-such.cfg", text="no-such.cfg: cannot read this file")

    def test_an_empty_configuration_is_all_defaults(self):
        result = run(self.file("empty.cfg", b""), "--size", "16x16", "--block", "8", "--iterations", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.refused(APP, text="cannot read this file")

    def test_errors_of_the_configuration_come_once_and_with_their_line(self):
        bad = self.file("bad.cfg", b"size = 8 x 8\nblok = 3\n")
        result = run(bad, "--variant", "mpi", ranks=2)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual((result.stdout + result.stderr).count("bad.cfg:2: unknown key 'blok'; did you mean 'block'?"), 1)

    def test_a_bad_picture_is_refused_by_name(self):
        self.file("cut.pgm", b"P5 4 4 255 abc")
        plate = self.file("plate.cfg", b"size = 8 x 8\npicture = cut.pgm\n")
        self.refused(plate, text="cut.pgm: the file is too short: 16 bytes of pixels expected, 3 found")
        plate = self.file("plate.cfg", b"size = 8 x 8\npicture = none.pgm\n")
        self.refused(plate, text="none.pgm: cannot read this file")

    def test_more_ranks_than_rows_of_blocks_are_refused(self):
        result = run(SOURCES, "--variant", "mpi", "--size", "8x8", "--block", "8", ranks=2)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("use fewer ranks or --block 4", result.stdout + result.stderr)

    def test_serial_on_two_ranks_is_refused(self):
        result = run(SOURCES, ranks=2)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("use --variant mpi", result.stdout + result.stderr)

    def test_progress_is_drawn_where_it_is_asked_for(self):
        self.assertRegex(run(SOURCES, *SMALL[:-1], "always").stderr, "serial .* of 6 iterations")
        self.assertEqual("", run(SOURCES, *SMALL).stderr)

    def test_imbalance_changes_the_cost_and_not_the_field(self):
        report, timeline = self.file("run.json"), self.file("timeline.json")
        # Which of two middle blocks is the dear one, by rank or by column. Some blocks are interrupted by other programs.
        for where, is_dear in (("rank:1", lambda s: s[0] == 1), ("area:0,0,0.5,1", lambda s: s[7] < 2)):
            result = run(SOURCES, "--size", "96x160", "--block", "32", "--iterations", "12", "--progress", "never", "--variant", "mpi",
                         "--verify", "--imbalance", f"30@{where}", "--json", report, "--timeline", timeline, ranks=2)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(report, encoding="utf-8") as text:
                data = json.load(text)
            self.assertEqual(data["imbalance"], f"30@{where}")
            with open(timeline, encoding="utf-8") as text:
                spans = [s for s in json.load(text)["spans"] if s[2] == 0 and s[7] != 2]  # column 2 is in the middle of the plate
            dear, even = (statistics.median(s[4] - s[3] for s in spans if is_dear(s) == which) for which in (True, False))
            self.assertGreater(dear, 4 * even, where)
        self.refused(SOURCES, "--imbalance", "5@zones:1", text="'zones' is unknown; known are rank, area")
        self.refused(SOURCES, "--imbalance", "5@rank:1", text="there is no rank 1, only 0 to 0")

    def test_a_field_that_differs_in_one_bit_is_found(self):
        field = self.file("field.npy")
        self.assertEqual(run(SOURCES, *SMALL, "--field", field).returncode, 0)
        same = run(SOURCES, *SMALL, "--variant", "mpi", "--reference", field, ranks=2)
        self.assertEqual(same.returncode, 0, same.stderr)
        self.assertIn("bit-identical", same.stdout)
        with open(field, "r+b") as data:
            data.seek(-8, os.SEEK_END)
            bits, = struct.unpack("<Q", data.read(8))
            data.seek(-8, os.SEEK_END)
            data.write(struct.pack("<Q", bits ^ 1))
        self.refused(SOURCES, *SMALL, "--reference", field, text="DIFFERS from", status=3)
        found = self.refused(SOURCES, *SMALL, "--reference", field, text="in 1 of 1920 cells, first at row 47, column 39: ", status=3)
        here, there, most = map(float, re.search(r"column 39: (\S+) here, (\S+) there; by at most (\S+)", found).groups())
        self.assertNotEqual(here, there)
        self.assertAlmostEqual(most, abs(here - there), delta=0.01 * most)
        more = [*SMALL[:-3], "7", *SMALL[-2:]]
        self.refused(SOURCES, *more, "--reference", field, text="DIFFERS from", status=3)

    def test_files_that_cannot_be_written_are_refused_before_the_run(self):
        for option in ("--json", "--timeline", "--field", "--start"):
            file = self.file("no/such/folder.out")
            self.refused(SOURCES, *SMALL, option, file, text=f"{file}: cannot write this file: No such file")
            self.refused(SOURCES, *SMALL, option, self.folder.name, text="cannot write this file: Is a directory")
        self.refused(SOURCES, *SMALL, "--json", self.file("run.json"), "--field", self.file("no/such.npy"), text="cannot write")
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_a_reference_that_is_no_field_is_refused(self):
        for content, text in ((b"", "not a NumPy file"), (b"\x93NUMPY\x01\x00\x05\x00abcde", "not a two-dimensional array")):
            self.refused(SOURCES, *SMALL, "--reference", self.file("bad.npy", content), text=text)

    def test_every_message_of_the_timeline_has_both_ends_in_order(self):
        for variant in variants():
            with self.subTest(variant=variant):
                timeline, report = self.file("timeline.json"), self.file("run.json")
                result = run(SOURCES, *SMALL, "--variant", variant, "--threads", "2", "--verify", "--timeline", timeline,
                             "--json", report, ranks=2)
                self.assertEqual(result.returncode, 0, result.stderr)
                with open(timeline, encoding="utf-8") as text:
                    data = json.load(text)
                pieces = 1 if variant == "forkjoin" else 5
                ends = {0: {}, 1: {}}
                for rank, _, sent, down, peer, iteration, col, _, started, complete in data["messages"]:
                    self.assertLessEqual(started, complete)
                    source, target = (rank, peer) if sent else (peer, rank)
                    self.assertNotIn((source, target, down, iteration, col), ends[sent])
                    ends[sent][source, target, down, iteration, col] = (started, complete)
                self.assertEqual(ends[0].keys(), ends[1].keys())
                self.assertEqual(len(ends[0]), pieces * (6 + 5))  # 6 iterations down, 5 up
                for key, (started, _) in ends[1].items():
                    self.assertLessEqual(started, ends[0][key][1], key)
                blocks = [(s[0], s[5], s[6], s[7]) for s in data["spans"] if s[2] == 0]
                self.assertEqual(len(blocks), len(set(blocks)))
                self.assertEqual(len(blocks), 6 * (10 if variant == "mpi" else 30))
                with open(report, encoding="utf-8") as text:
                    summary = json.load(text)
                self.assertEqual(summary["field"]["verdict"], "identical")
                self.assertEqual(sum(r["messages_sent"] for r in summary["ranks_detail"]), len(ends[1]))
                if variant in ("omp-tasks", "tbb"):  # every operation ended in one continuation or at once
                    counts = summary["thence"]
                    self.assertEqual(counts["attached"] + counts["immediate"], 2 * len(ends[1]))
                self.assertAlmostEqual(sum(summary["share_of_thread_time"].values()), 1, places=2)

    def test_a_worker_goes_on_while_a_receive_is_outstanding(self):
        for variant in ("tampi-blocking", "tampi-iwait", "dataflow"):
            if variant not in variants():
                continue
            with self.subTest(variant=variant):
                timeline = self.file("timeline.json")
                result = run(SOURCES, *SMALL, "--variant", variant, "--threads", "1", "--timeline", timeline, ranks=2)
                self.assertEqual(result.returncode, 0, result.stderr)
                with open(timeline, encoding="utf-8") as text:
                    data = json.load(text)
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
        plot = [sys.executable, os.path.join(APP, "plot.py"), "table", "--check"]
        report = self.file("run.json")
        run(SOURCES, *SMALL, "--variant", "mpi", "--json", report, ranks=2)
        self.assertEqual(subprocess.run([*plot, report], capture_output=True, check=False).returncode, 3)
        run(SOURCES, *SMALL, "--variant", "mpi", "--verify", "--json", report, ranks=2)
        table = subprocess.run([*plot, report], capture_output=True, text=True, check=False)
        self.assertEqual(table.returncode, 0, table.stderr)
        self.assertIn("identical", table.stdout)

    def test_plots_refuse_other_files(self):
        refuse_other_files(self, os.path.join(APP, "plot.py"), self.file("other.json"), ["table", "bars", "timeline"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
