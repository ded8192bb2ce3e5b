#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Command line and files of bt_mz. Arguments: the program, the program on an MPI with a fault
or `none`, then the launcher and its options."""
import json
import os
import re
import sys
import unittest

APP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(APP, "../common/tests"))
sys.path.insert(0, APP)
import plot
from command import CommandTest, Program

BT_MZ = Program(sys.argv[1], sys.argv[3:])
FAULTY = Program(sys.argv[2], sys.argv[3:])
PLOT = os.path.join(APP, "plot.py")
SHORT = ["S", "--steps", "6", "--progress", "never"]


def variants():
    text = BT_MZ("--help").stdout
    return [v for v in ("mpi", "waitsome", "callbacks", "forkjoin", "omp-tasks", "tampi-blocking", "tampi-iwait",
                          "dataflow") if f"\n  {v} " in text]


class Command(CommandTest):
    program = BT_MZ

    def test_help_names_options_classes_variants_and_exit_status(self):
        self.help_has("--imbalance", "128 x 128 x 16", "serial", "mpi")

    def test_wrong_usage_is_refused(self):
        self.refused(text="class is required")
        self.refused("X", text="'X' is unknown; known are S, W, A, B, C, D, E")
        self.refused("SW", text="'SW' is unknown")
        self.refuses_what_every_application_refuses(*SHORT)
        self.refused("S", "--steps", "0", text="--steps")
        self.refused("S", "--dt", "-1", text="--dt")
        self.refused("S", "--imbalance", "2@area:0,0,1,1", text="'area' is unknown; known are rank, zones")
        self.refused("S", "--imbalance", "2@zones:4", text="there is no zone 4, only 0 to 3")
        self.refused("S", "--imbalance", "2@rank:1", text="there is no rank 1, only 0 to 0")

    def test_progress_is_drawn_where_it_is_asked_for(self):
        self.assertRegex(self.accepted(*SHORT[:-1], "always").stderr, "serial .* of 6 steps")
        self.assertEqual("", self.accepted(*SHORT).stderr)

    def test_more_ranks_than_zones_are_refused_once(self):
        text = "class S has 4 zones for 5 ranks; use at most 4 ranks, or a larger class"
        self.refused("S", "--variant", "mpi", text=text, ranks=5)

    def test_serial_on_two_ranks_is_refused(self):
        self.refused("S", text="the variant serial runs on one rank; for 2 ranks use --variant mpi", ranks=2)

    def test_a_class_for_which_the_memory_is_too_small_is_refused_before_it_is_taken(self):
        with open("/proc/meminfo", encoding="ascii") as file:
            available = int(re.search(r"MemAvailable: +(\d+) kB", file.read())[1]) >> 20
        if available > 200:
            self.skipTest(f"{available} GiB are available, and class E needs 210")
        self.refused("E", text="class E needs 210.1 GiB of memory on a host, ")

    def test_too_few_threads_for_the_tasks_of_openmp_are_an_error(self):
        if "omp-tasks" not in variants():
            self.skipTest("built without OpenMP")
        result = BT_MZ(*SHORT, "--variant", "omp-tasks", "--threads", "1", env={"OMP_THREAD_LIMIT": "1"})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("OpenMP gives 1 threads", result.stderr)

    def test_a_failed_verification_says_which_value_is_how_far_off(self):
        output = self.refused("S", "--dt", "0.0101", text="FAILED for class S", status=3)
        self.assertIn("the time step is 0.0101, and that of class S is 0.01", output)
        self.assertRegex(output, r"error of the energy is [0-9.e+]+, and should be 1.965566269675e\+02: off by [0-9.e-]+ of it")

    @unittest.skipIf(FAULTY.path == "none", "Thence is a static library")
    def test_a_wrong_value_in_a_message_fails_the_verification_of_every_variant(self):
        for variant in variants():
            with self.subTest(variant=variant):
                file = self.file("run.json")
                output = self.refused("S", "--progress", "never", "--variant", variant, "--threads", "1", "--json", file, ranks=2,
                                      program=FAULTY, env={"FAULT": "very_wrong_value"}, status=3, text="FAILED for class S")
                lines = re.findall(r"\n  (residual|error) of the .* is (\S+), and should be (\S+): off by (\S+) of it, at most 1e-08 ",
                                   output)
                self.assertNotEqual(lines, [], output)
                for _, value, expected, off in lines:
                    self.assertAlmostEqual(abs(float(value) / float(expected) - 1), float(off), delta=0.01 * float(off))
                    self.assertGreater(float(off), 1e-8)
                self.assertEqual(self.read(file)["verification"]["verdict"], "FAILED")
                self.accepted("S", "--progress", "never", "--variant", variant, "--threads", "1", ranks=2, program=FAULTY)

    def test_a_run_with_other_steps_is_not_called_verified(self):
        result = self.accepted(*SHORT)
        self.assertIn("not verified: class S has values for 60 steps, and this run has 6", result.stdout)

    def test_all_variants_compute_the_same_bits_on_any_number_of_ranks(self):
        reference = self.report(*SHORT)["verification"]["norms"]
        for variant in variants():
            for ranks in (1, 2, 4):
                with self.subTest(variant=variant, ranks=ranks):
                    got = self.report(*SHORT, "--variant", variant, "--threads", "2", ranks=ranks)
                    self.assertEqual([n["value"] for n in got["verification"]["norms"]], [n["value"] for n in reference])

    def test_imbalance_changes_the_cost_and_not_the_result(self):
        reference = self.report(*SHORT)["verification"]["norms"]
        got = self.report(*SHORT, "--imbalance", "30@zones:0")
        self.assertEqual(got["verification"]["norms"], reference)
        seconds = [z["compute_s"] for z in got["zones"]]
        self.assertGreater(seconds[0], seconds[1])  # though zone 1 has three times the cells
        got = self.report(*SHORT, "--variant", "mpi", "--imbalance", "30@rank:1", ranks=2)
        self.assertEqual(got["verification"]["norms"], reference)
        times = [r["compute_s"] for r in got["ranks_detail"]]
        self.assertGreater(times[1], 3 * times[0])

    def test_every_message_of_the_timeline_has_both_ends_in_order(self):
        for variant in variants():
            with self.subTest(variant=variant):
                timeline = self.file("timeline.json")
                report = self.report(*SHORT, "--variant", variant, "--threads", "1", "--timeline", timeline, ranks=2)
                data = self.read(timeline)
                rank_of = {(z["column"], z["row"]): z["rank"] for z in report["zones"]}
                remote = sum(2 * (rank_of[c, r] != rank_of[1 - c, r]) + 2 * (rank_of[c, r] != rank_of[c, 1 - r])
                             for c, r in rank_of)
                self.assertGreater(remote, 0)
                ends = {0: {}, 1: {}}
                for rank, _, sent, side, peer, step, zone, _, started, complete in data["messages"]:
                    self.assertLessEqual(started, complete)
                    self.assertEqual(rank_of[zone % 2, zone // 2], peer if sent else rank)
                    self.assertNotIn((step, zone, side), ends[sent])
                    ends[sent][step, zone, side] = (started, complete)
                self.assertEqual(ends[0].keys(), ends[1].keys())
                self.assertEqual(len(ends[0]), 6 * remote)
                for key, (started, _) in ends[1].items():
                    self.assertLessEqual(started, ends[0][key][1], key)
                parts = {(s[5], s[6], s[7]) for s in data["spans"] if s[2] == 0}
                self.assertEqual(len(parts), 6 * 4)  # every zone in every step
                self.assertEqual(sum(r["messages_sent"] for r in report["ranks_detail"]), 6 * remote)
                if "thence" in report:  # one continuation for each exchange of a zone with another rank, the first step twice
                    counts = report["thence"]
                    zones = sum(len({rank_of[c, r], rank_of[1 - c, r], rank_of[c, 1 - r]}) > 1 for c, r in rank_of)
                    self.assertEqual(counts["attached"] + counts["immediate"], 7 * zones)

    def test_the_table_refuses_runs_that_were_not_verified(self):
        self.report(*SHORT)
        self.assertEqual(self.plot(PLOT, "table", "--check", self.file("run.json")).returncode, 3)
        self.report("S", "--progress", "never")
        table = self.plot(PLOT, "table", "--check", self.file("run.json"))
        self.assertEqual(table.returncode, 0, table.stderr)
        self.assertIn("verified", table.stdout)

    @staticmethod
    def write(name, content):
        with open(name, "w", encoding="utf-8") as file:
            json.dump(content, file)

    def test_a_sweep_is_drawn_as_bars_by_shape(self):
        points = [{"variant": variant, "cores": ranks * threads, "ranks": ranks, "threads": threads, "times_s": times}
                  for variant, ranks, threads, times in (
                      ("dataflow:2", 1, 2, [1.2, 1.3, 1.1]), ("tampi-iwait:2", 1, 2, [1.3]), ("dataflow:1", 2, 1, [1.4]),
                      ("tampi-blocking:1", 2, 1, [1.5]), ("mpi", 2, 1, [1.1, 1.0]), ("dataflow:1", 1, 1, [2.0]), ("dataflow:2", 1, 1, [2.2]))]
        shapes = plot.by_shape(points)
        self.assertEqual([(shape, list(variants)) for shape, variants in shapes.items()],
                         [((1, 1), ["dataflow"]), ((2, 1), ["mpi", "tampi-blocking", "dataflow"]), ((1, 2), ["tampi-iwait", "dataflow"])])
        self.assertEqual((shapes[1, 1]["dataflow"], shapes[2, 1]["mpi"]), ([2.0, 2.2], [1.1, 1.0]))
        sweep = {"program": "bt_mz", "arguments": ["W"], "mpi": "an MPI", "available": 2, "rounds": 3, "points": points}
        file = self.file("sweep.json")
        for other, text in (({**sweep, "program": "heat"}, "is a sweep of heat, not of bt_mz"), ({**sweep, "points": []}, "points is no list"),
                            ({}, "is no file of scripts/scaling.py --json: the file has no program")):
            self.write(file, other)
            drawn = self.plot(PLOT, "shapes", file)
            self.assertEqual((drawn.returncode, text in drawn.stderr), (1, True), drawn.stderr)
        self.write(file, sweep)
        picture = self.file("shapes.png")
        self.draws(PLOT, "shapes", file, "-o", picture, picture=picture)

    def test_every_variant_has_its_place_in_tables_and_figures(self):
        self.assertEqual([variant for variant in variants() if variant not in plot.ORDER], [])

    def test_plots_refuse_other_files(self):
        self.refuses_other_files(PLOT, (["table"], []), (["zones"], []), (["timeline"], []))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
