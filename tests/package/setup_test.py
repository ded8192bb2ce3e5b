#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which commands install packages: `make deps` does, `make build` says what is missing and names `make deps`.

Runs the Makefile in a folder of its own. PATH has the tools of the scripts, a package manager that only notes what it
is asked for, and of the compilers and CMake none, or stand-ins that note how they are called.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TOOLS = ["awk", "bash", "cat", "dirname", "env", "grep", "head", "id", "make", "mktemp", "nproc", "python3", "rm", "sed",
         "sh", "sort", "tr"]
NOTE = '#!/bin/sh\necho "${0##*/} $*" >>"$CALLS"\n'
STAND_INS = {
    "apt-get": NOTE,
    "sudo": NOTE + 'exec "$@"\n',
    "apt-cache": "#!/bin/sh\necho '  Candidate: 1.0'\n",
    "dpkg-query": "#!/bin/sh\nexit 1\n",
}
COMPILERS = {
    "g++": NOTE,
    "mpicc": NOTE,
    "cmake": NOTE + '[ "$1" != --version ] || echo cmake version 3.25.1\n',
}


class Setup(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tree = Path(self.folder.name) / "tree"
        self.tree.mkdir()
        shutil.copy(ROOT / "Makefile", self.tree)
        shutil.copytree(ROOT / "scripts", self.tree / "scripts")
        self.bin = Path(self.folder.name) / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.add(STAND_INS)
        self.headers = Path(self.folder.name) / "headers"

    def add(self, programs):
        for name, text in programs.items():
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)

    def add_headers(self, *names):
        for name in names:
            path = self.headers / name
            path.parent.mkdir(parents=True)
            path.touch()

    def run_it(self, *command):
        """Exit status, standard error, and the calls that were noted."""
        calls = Path(self.folder.name) / "calls"
        calls.write_text("")
        environment = {"PATH": str(self.bin), "HOME": self.folder.name, "CALLS": str(calls), "CPATH": str(self.headers)}
        if "TMPDIR" in os.environ:
            environment["TMPDIR"] = os.environ["TMPDIR"]
        done = subprocess.run(command, cwd=self.tree, env=environment, capture_output=True, text=True, timeout=60,
                              check=False)
        print(done.stdout, done.stderr, sep="")
        return done.returncode, done.stdout, done.stderr, calls.read_text().splitlines()

    def test_build_installs_nothing_and_names_what_does(self):
        status, printed, errors, calls = self.run_it("make", "build")
        self.assertNotEqual(status, 0)
        self.assertRegex(errors, r"(?m)^setup: .*: make deps$")
        for package in ("cmake", "g++", "libopenmpi-dev"):
            self.assertRegex(printed, rf"(?m)^setup: missing {package.replace('+', '[+]')} ")
        self.assertEqual(calls, [])

    def test_build_builds_where_all_is_there(self):
        self.add(COMPILERS)
        self.add_headers("CLI/CLI.hpp", "nlohmann/json.hpp", "tbb/version.h", "boost/fiber/all.hpp")
        status, _, errors, calls = self.run_it("make", "build")
        self.assertEqual(status, 0, errors)
        self.assertTrue(any(call.startswith("cmake --preset release") for call in calls), calls)
        self.assertTrue(any(call.startswith("cmake --build --preset release") for call in calls), calls)
        self.assertFalse([call for call in calls if call.startswith(("apt", "sudo"))], calls)

    def test_deps_installs_what_is_missing(self):
        status, _, errors, calls = self.run_it("make", "deps")
        self.assertEqual(status, 0, errors)
        installs = [call for call in calls if call.startswith("apt-get") and " install " in call]
        self.assertEqual(len(installs), 1, calls)
        self.assertTrue({"cmake", "g++", "libopenmpi-dev"} <= set(installs[0].split()), installs)

    def test_demo_and_test_install_before_they_build(self):
        for target, package in (("demo", "g++"), ("test", "libgtest-dev"), ("test-matrix", "libgtest-dev")):
            _, _, _, calls = self.run_it("make", target)
            self.assertTrue(any(" install " in call and package in call.split() for call in calls), (target, calls))

    def test_check_of_another_purpose_names_it(self):
        status, _, errors, calls = self.run_it("scripts/setup.sh", "--check", "test")
        self.assertEqual((status, calls), (1, []))
        self.assertRegex(errors, r'(?m)^setup: .*: make deps FOR="build test"$')


if __name__ == "__main__":
    sys.exit(unittest.main())
