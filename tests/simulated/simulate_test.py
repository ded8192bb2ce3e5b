#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/simulate.py, and the simulated part of scripts/granularity.py: what it refuses, that figures repeat exactly, and that latency,
imbalance and noise have effects of the right size. Arguments: wavefront, heat_plates, bt_mz, streaming, heat and amr, built for SMPI."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

WAVEFRONT, PLATES, BT_MZ, STREAMING, HEAT, AMR = (os.path.abspath(sys.argv.pop(1)) for _ in range(6))
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SOURCES = os.path.join(os.path.abspath(SOURCE), "apps/heat/configs/sources.cfg")
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "simulate.py")
SMALL = ["--", "--grid", "81x21", "--iterations", "2"]


def run(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], capture_output=True, text=True, timeout=120, check=False)


def times(*arguments, program=("--grid", "81x21", "--iterations", "2"), application=WAVEFRONT):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "runs.json")
        done = run(application, "--json", file, "--cell-cost", "1us", *arguments, "--", *program)
        assert done.returncode == 0, done.stderr
        with open(file, encoding="utf-8") as text:
            return [each["time_s"] for each in json.load(text)["runs"]]


class Simulate(unittest.TestCase):
    def refused(self, *arguments, text, status=2):
        done = run(*arguments)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.returncode, status, done.stderr)

    def test_help_says_what_is_not_simulated(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("Not simulated are", done.stdout)

    def test_wrong_usage_is_refused(self):
        self.refused("no-such-program", "--cell-cost", "1ns", text="no program no-such-program; build it")
        self.refused(WAVEFRONT, text="--cell-cost")
        for option, value in (("--latency", "2"), ("--latency", "-1us"), ("--bandwidth", "0GBps"), ("--ranks", "0"),
                              ("--ranks", "many"), ("--imbalance", "0.5@1"), ("--imbalance", "5"), ("--noise", "-1")):
            self.refused(WAVEFRONT, "--cell-cost", "1ns", f"{option}={value}", text=f"argument {option}: '{value}' is no")
        self.refused(WAVEFRONT, "--cell-cost", "1ns", "--ranks", "4", "--imbalance", "2@4", text="no rank 4 on 4 ranks")

    def test_a_program_that_fails_is_reported(self):
        self.refused(WAVEFRONT, "--cell-cost", "1ns", "--ranks", "4", "--", "--grid", "wide", status=1, text="'wide' is no grid")
        self.refused(WAVEFRONT, "--cell-cost", "1ns", "--ranks", "4", "--variants", "magic", *SMALL, status=1, text="unknown")

    def test_the_cost_of_a_unit_comes_from_the_native_program(self):
        with tempfile.TemporaryDirectory() as folder:
            native, file = os.path.join(folder, "native"), os.path.join(folder, "runs.json")

            def write(members):
                with open(native, "w", encoding="utf-8") as text:
                    text.write("#!/bin/sh\n[ \"$5\" = --grid ] || exit 4\n"
                               f"echo '{json.dumps(members)}' > \"$2\"\n")
                os.chmod(native, 0o755)
            write({"cell_ns": 1000})
            done = run(WAVEFRONT, "--native", native, "--ranks", "1", "--json", file, *SMALL)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(file, encoding="utf-8") as text:
                self.assertAlmostEqual(json.load(text)["settings"]["cell_cost"], 1e-6)
            self.refused(WAVEFRONT, "--native", native, "--native-arguments", "S", "--ranks", "1", *SMALL, status=1,
                         text="failed with status 4")
            write({"time_s": 1})
            self.refused(WAVEFRONT, "--native", native, "--ranks", "1", *SMALL, status=1, text="wrote no cell_ns")

    def test_every_application_writes_the_cost_of_a_unit(self):
        for application, program in ((WAVEFRONT, ["--grid", "81x21"]), (PLATES, ["--size", "64x128"]),
                                     (BT_MZ, ["S", "--zones", "4x4", "--steps", "2"]),
                                     (HEAT, [SOURCES, "--size", "64x128", "--iterations", "2"]),
                                     (AMR, ["--block", "4", "--levels", "1", "--steps", "6"]),
                                     (STREAMING, ["--size", "512", "--block", "64", "--chunks", "4"])):
            with tempfile.TemporaryDirectory() as folder:
                done = run(application, "--ranks", "1", "--cell-cost", "250ns", "--keep", folder, "--", *program)
                self.assertEqual(done.returncode, 0, done.stderr)
                report = os.path.join(folder, "1-2us", "run-mpi.json")
                with open(report, encoding="utf-8") as text:
                    self.assertAlmostEqual(json.load(text)["cell_ns"], 250, delta=1)

    def test_figures_repeat_exactly(self):
        settings = ("--ranks", "4", "--variants", "mpi,callbacks,coroutine", "--noise", "0.5", "--noise-interval", "20us",
                    "--imbalance", "2@1")
        first = times(*settings)
        self.assertEqual(first, times(*settings))
        self.assertNotEqual(first, times(*settings, "--seed", "2"))

    def test_figures_of_the_other_applications_repeat_exactly(self):
        settings = ("--ranks", "16", "--variants", "mpi,callbacks", "--noise", "0.5", "--noise-interval", "20us")
        for application, program in ((PLATES, ("--size", "64x128", "--iterations", "4", "--mirrored", "--plates", "2")),
                                     (BT_MZ, ("S", "--zones", "8x8", "--steps", "2")),
                                     (HEAT, (SOURCES, "--size", "512x128", "--block", "16", "--iterations", "4", "--verify")),
                                     (AMR, ("--block", "4", "--levels", "1", "--steps", "6", "--verify")),
                                     (STREAMING, ("--size", "512", "--block", "64", "--chunks", "4", "--work", "1"))):
            first = times(*settings, application=application, program=program)
            self.assertEqual(first, times(*settings, application=application, program=program))

    def test_puts_with_notifications_take_the_time_of_messages(self):
        # With work for 25.6 us, a block and its acknowledgement travel beside the work on others.
        by_messages, by_puts = times("--ranks", "4", "--cell-cost", "100ns", "--variants", "mpi,callbacks",
                                     application=STREAMING, program=("--size", "4096", "--block", "256", "--chunks", "4",
                                                                     "--work", "1"))
        self.assertAlmostEqual(by_puts / by_messages, 1, delta=0.02)

    def test_blocks_of_heat_wait_for_the_pieces_that_they_need(self):
        # Two bands of one block: each needs a piece of the other before it is swept again, so they are swept in turn.
        program = (SOURCES, "--size", "128x64", "--block", "64", "--iterations", "8")
        by_messages, by_puts = times("--ranks", "2", "--variants", "mpi,callbacks", application=HEAT, program=program)
        self.assertAlmostEqual(by_puts / by_messages, 1, delta=0.02)
        self.assertAlmostEqual(by_puts, 16 * 64 * 64 * 1e-6, delta=1e-3)

    def test_blocks_of_amr_wait_for_the_faces_that_they_need(self):
        # Two blocks, one on each rank: each stage needs a face of the other, so no rank is more than a stage ahead of a slow one.
        program = ("--roots", "2x1x1", "--levels", "0", "--block", "4", "--variables", "1", "--steps", "4")
        by_messages, by_puts = times("--ranks", "2", "--imbalance", "3@1", "--variants", "mpi,callbacks", application=AMR, program=program)
        self.assertAlmostEqual(by_puts / by_messages, 1, delta=0.02)
        self.assertAlmostEqual(by_puts, 8 * 3 * 64 * 1e-6, delta=1e-4)

    def test_callbacks_of_amr_compute_blocks_that_need_nobody_while_faces_travel(self):
        # Each stage of mpi waits for a slow network; callbacks have blocks without remote faces for that time.
        program = ("--roots", "8x2x2", "--levels", "0", "--block", "4", "--variables", "1", "--steps", "16", "--refine-every", "16")
        by_messages, by_puts = times("--ranks", "2", "--latency", "1ms", "--cell-cost", "2us", "--variants", "mpi,callbacks", application=AMR,
                                     program=program)
        self.assertLess(by_puts, 0.9 * by_messages)

    def test_granularity_of_all(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "found.json")
            build = os.path.dirname(os.path.dirname(STREAMING))
            done = subprocess.run([sys.executable, "-B", os.path.join(SOURCE, "scripts/granularity.py"), build, "--simulated", build,
                                   "--where", "sim:2us", "--simulated-ranks", "2", "--apps", "heat,amr,streaming", "--scale", "1", "--rounds",
                                   "3", "--json", file], capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(file, encoding="utf-8") as text:
                points = json.load(text)["points"]
        self.assertEqual([(p["application"], p["variant"], p["size"]) for p in points],
                         [(name, v, size) for name, sizes in (("heat", (16, 32, 64, 128, 256)), ("amr", (5, 10, 20, 40)),
                                                              ("streaming", (64, 256, 1024, 4096, 16384)))
                          for v in ("mpi", "callbacks") for size in sizes])
        self.assertTrue(all(len(p["rates"]) == 1 and 0 <= p["mpi_shares"][0] < 1 for p in points))
        self.assertIn("streaming, 2 simulated ranks, latency 2us", done.stdout)

    def test_one_rank_takes_the_cost_of_its_cells(self):
        cells = 80 * 20 * 2
        self.assertAlmostEqual(times("--ranks", "1")[0], cells * 1e-6, delta=1e-9)
        self.assertAlmostEqual(times("--ranks", "1", "--imbalance", "3@0")[0], 3 * cells * 1e-6, delta=1e-9)

    def test_a_chain_takes_the_latency_of_its_messages(self):
        # One line, and one column a rank: 15 messages in turn, on one switch, so half of the latency each. The ranks do not
        # leave the barrier before at the same time: that may be one message more or less.
        two, twenty = times("--ranks", "16", "--latency", "2us,20us", program=("--grid", "17x2", "--iterations", "1"))
        self.assertAlmostEqual(twenty - two, 15 * 9e-6, delta=9.1e-6)


if __name__ == "__main__":
    unittest.main()
