# SPDX-License-Identifier: BSD-3-Clause
"""scripts/demo.py at small size, as a user without root, so that no situation has a delay: its sentences and its exit status,
also if a run fails and if a field differs."""

import os
import shutil
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
SCRIPTS = os.path.join(ROOT, "scripts")
sys.path.insert(0, SCRIPTS)
import demo  # noqa: E402
# Runs demo.py as it is, but it sees another user than root.
WITHOUT_ROOT = (f"import os, runpy, sys; os.geteuid = lambda: 1000; sys.path.insert(0, {SCRIPTS!r}); "
                f"runpy.run_path({os.path.join(SCRIPTS, 'demo.py')!r}, run_name='__main__')")


class Demo(unittest.TestCase):
    launcher = heat = plates = None

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = os.path.join(self.folder, "out")
        os.mkdir(os.path.join(self.folder, "bin"))

    def demo(self, *arguments, fault=""):
        """Runs the demonstration with a heat that obeys `fault`, a line of sh."""
        for name, program in (("heat", self.heat), ("heat_plates", self.plates)):
            path = os.path.join(self.folder, "bin", name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{fault}\nexec '{program}' \"$@\"\n")
            os.chmod(path, 0o755)
        return subprocess.run([sys.executable, "-B", "-c", WITHOUT_ROOT, self.folder, self.out, "--scale", "1", "--repeats", "1",
                               *arguments], capture_output=True, text=True, check=False, timeout=100,
                              env={**os.environ, "MPIEXEC": self.launcher})

    def report(self):
        with open(os.path.join(self.out, "report.txt"), encoding="utf-8") as file:
            return file.read()

    def test_says_a_sentence_for_each_situation_and_what_is_left_out(self):
        done = self.demo("--only", "plates")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = self.report().splitlines()
        self.assertRegex(lines[0], r"^Four independent plates: the best of ours, (callbacks|coroutine), is \d+\.\d\d times")
        self.assertEqual(lines[1], "Left out: the situations with a delay between two hosts, since this needs root, to make "
                                   "network namespaces.")
        self.assertEqual(lines[2], "All 7 parallel runs computed the values of the serial run, bit for bit.")
        self.assertEqual(len(lines), 3)
        self.assertIn("[4/7] Four independent plates: coroutine, to choose the fastest", done.stderr)

    def test_what_was_fastest_runs_again(self):
        done = self.demo("--only", "plates", "--repeats", "2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("All 10 parallel runs computed", self.report())
        self.assertRegex(done.stderr, r"\[8/10\].*: mpi, run 2\n\[9/10\].*: (callbacks|coroutine), run 2\n"
                                      r"\[10/10\].*: forkjoin, run 2\n")

    def test_all_ranks_have_rows_where_there_are_many_cores(self):
        many = types.SimpleNamespace(cores=8, heat=self.heat, plates=self.plates, variants=["dataflow"],
                                     mpi=lambda ranks, delay: [self.launcher, "-n", str(ranks)])
        reference = os.path.join(self.folder, "field.npy")
        subprocess.run([self.heat, *demo.plate_arguments(many), "--iterations", "1", "--field", reference], check=True, timeout=60,
                       stdout=subprocess.DEVNULL)
        name, command = demo.ways(many, [], None, "1", reference)[0]
        self.assertEqual(name, "mpi")
        self.assertIn("8", command)
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_an_imbalanced_plate_has_both_shapes_and_names_that_of_the_best(self):
        done = self.demo("--only", "imbalanced")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        cores = len(os.sched_getaffinity(0))
        for ranks in (1, 2):
            for variant in ("forkjoin", "dataflow"):
                self.assertIn(f"costs five times as much: {variant}-{ranks}x{cores}, to choose", done.stderr)
        self.assertRegex(self.report().splitlines()[0],
                         r"the best of ours, (omp-tasks|tbb|dataflow) on (1 rank|2 ranks) x \d+ threads?, is \d+\.\d\d times.*"
                         r"as fast as MPI only, .*as fast as forkjoin on (1 rank|2 ranks) x \d+ threads?")

    def test_a_run_that_fails_keeps_its_log_and_gives_status_1(self):
        done = self.demo("--only", "plates", fault='case "$*" in *forkjoin*) echo "no luck"; exit 9 ;; esac')
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        with open(os.path.join(self.out, "plates-forkjoin-0.log"), encoding="utf-8") as file:
            self.assertIn("no luck", file.read())
        self.assertIn("no luck", done.stderr)
        self.assertIn("Four independent plates: not compared, since a run of forkjoin failed.", self.report())
        self.assertNotIn("All", self.report())

    def test_a_field_that_differs_gives_status_3(self):
        # The serial run makes fewer iterations, so every field differs from the reference.
        done = self.demo("--only", "balanced", fault='case "$*" in *--field*) plate=$1; shift 3; '
                                                     'set -- "$plate" --iterations 1 "$@" ;; esac')
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("A balanced plate: not compared, since a run of mpi", self.report())
        self.assertIn("0 computed the values", self.report())

    def test_wrong_usage(self):
        for arguments in (["--scale", "0"], ["--repeats", "100"], ["--only", "all"]):
            self.assertEqual(self.demo(*arguments).returncode, 2, arguments)
        self.assertFalse(os.path.exists(self.out))
        with open(self.out, "w", encoding="utf-8"):
            result = self.demo("--only", "balanced")
        self.assertEqual(result.returncode, 2)
        self.assertIn("cannot make the folder", result.stderr)


if __name__ == "__main__":
    Demo.launcher, Demo.heat, Demo.plates = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
