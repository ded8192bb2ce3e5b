#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/granularity.py at small size: the points that it runs, its table and files, and what it refuses. Arguments: the launcher and
the build folder."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

LAUNCHER, BUILD = (sys.argv.pop(1) for _ in range(2))
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "granularity.py")


class Granularity(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = os.path.join(self.folder, "found.json")

    def granularity(self, *arguments):
        return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], capture_output=True, text=True, check=False, timeout=200)

    def refused(self, *arguments, text, status=2):
        done = self.granularity(*arguments)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.returncode, status, done.stderr)

    def stand_in(self, *lines):
        """A build folder whose streaming does what lines of sh say; $report is the file of --json."""
        program = os.path.join(self.folder, "bin", "streaming")
        os.makedirs(os.path.dirname(program))
        with open(program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nif [ \"$1\" = --help ]; then printf 'Variants:\\n  mpi  x\\n  magic  x\\n\\nExamples:\\n'; exit; fi\n"
                       "while [ $# -gt 1 ]; do [ \"$1\" = --json ] && report=$2; shift; done\n" + "\n".join(lines) + "\n")
        os.chmod(program, 0o755)
        return [self.folder, "--mpiexec", LAUNCHER, "--apps", "streaming", "--where", "one", "--rounds", "1"]

    def test_all_applications_run_over_their_sizes(self):
        done = self.granularity(BUILD, "--mpiexec", LAUNCHER, "--where", "one", "--rounds", "1", "--scale", "1", "--variants", "mpi",
                                "--json", self.file)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.file, encoding="utf-8") as text:
            points = json.load(text)["points"]
        sizes = {name: [p["size"] for p in points if p["application"] == name] for name in ("heat", "amr", "streaming")}
        self.assertEqual(sizes, {"heat": [16, 32, 64, 128, 256], "amr": [5, 10, 20, 40], "streaming": [64, 256, 1024, 4096, 16384]})
        self.assertTrue(all(len(p["rates"]) == 1 and p["rates"][0] > 0 and 0 <= p["mpi_shares"][0] <= 1 for p in points))
        self.assertIn("All 14 runs have the values of a serial run.", done.stdout)
        again = self.granularity("--from", self.file)
        self.assertEqual((again.returncode, again.stdout), (0, done.stdout))
        picture = os.path.join(self.folder, "found.png")
        drawn = self.granularity("--from", self.file, "--plot", picture)
        if "install matplotlib" not in drawn.stderr:
            self.assertEqual(drawn.returncode, 0, drawn.stderr)
            with open(picture, "rb") as image:
                self.assertEqual(image.read(8), b"\x89PNG\r\n\x1a\n")

    def test_a_variant_without_threads_has_as_many_ranks_as_the_others_have_threads(self):
        done = self.granularity(BUILD, "--mpiexec", LAUNCHER, "--apps", "streaming", "--where", "one", "--rounds", "1", "--scale", "5",
                                "--threads", "2", "--variants", "mpi,forkjoin", "--json", self.file)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("2 ranks x 2 threads (mpi and callbacks: 4 ranks)", done.stdout)

    def test_wrong_values_end_it(self):
        report = '{"updates_per_s": 1, "mpi": "x", "share_of_thread_time": {"mpi": 0}, "values": "rank 1: wrong"}'
        self.refused(*self.stand_in(f"echo '{report}' > $report"), text="the values are not right: rank 1: wrong", status=3)

    def test_runs_that_fail_are_told_with_what_they_say(self):
        self.refused(*self.stand_in("echo no luck; exit 1"), text="no luck", status=1)

    def test_wrong_usage_is_refused(self):
        self.refused(text="name a build folder")
        self.refused(self.folder, "--apps", "magic", text="--apps: 'magic' is unknown; known are heat, amr, streaming")
        self.refused(self.folder, "--variants", "magic", text="--variants: 'magic' is unknown")
        self.refused(self.folder, "--where", "two", text="--where: 'two' is no time; write for example one or 300us")
        self.refused(self.folder, "--where", "one", text="no program")
        self.refused(self.folder, "--scale", "0", text="--scale is 1 to 1000")
        self.refused(self.folder, "--ranks", "3", text="--ranks is an even number")
        self.refused(self.folder, "--json", "/nowhere/x.json", text="/nowhere/x.json: cannot write this file")
        self.refused("--from", SCRIPT, text="no file of --json")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
