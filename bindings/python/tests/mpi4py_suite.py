#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: MPI_LAUNCHER="mpiexec -n" mpi4py_suite.py [--ranks 1,2] [--limit SECONDS] [--only REGEX] [--under COMMAND] WORK_DIR [SOURCES]

Runs mpi4py's own tests, unchanged, with `thence` imported and its thread making progress all the time, a module at a time. With
--under "thence run --progress" it runs them, a program that knows nothing of Thence, under that command instead. SOURCES is a
folder with the sources of the mpi4py that is installed; without it pip downloads them to WORK_DIR. What fails, or does not
end in time, runs again without thence: MPIs have faults of their own. Prints a row for each such module, and the sums. Ends
with 1 if something fails with thence alone, and with 77 where pip has no sources.
"""

import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import mpi4py

VERSION = "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.Get_library_version())"
WITH_THENCE = """
import runpy, sys
from mpi4py import MPI
from thence.executor import RequestExecutor
# It stays pending, so that the thread makes progress all the time.
pending = RequestExecutor().track(MPI.COMM_SELF.Dup().Irecv(bytearray(1), 0, 0))
sys.argv = ["unittest", sys.argv[1]]
runpy.run_module("unittest", run_name="__main__", alter_sys=True)
"""
# Faults of an MPI with a second thread in it: (what its version begins with, a module). With THENCE_PROGRESS=always the helper
# keeps out of MPI meanwhile.
KNOWN = {("Open MPI", "test_io"): "nonblocking operations on files beside another thread, see Limits in the README"}
SKIPPED = 77


def sources(work):
    """The folder of the sources, or None."""
    name = f"mpi4py=={mpi4py.__version__}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "mpi4py", name, "-d", str(work)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        print(f"skipped: pip cannot download the sources of {name}")
        return None
    (archive,) = work.glob("mpi4py-*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(work, filter="data")
    return work / archive.name.removesuffix(".tar.gz")


def run(launcher, ranks, program, folder, limit):
    """Return how many tests have run on a rank, or None and why not all have passed."""
    process = subprocess.Popen([*launcher, str(ranks), *program], cwd=folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, f"does not end within {limit} s"
    counts = re.findall(r"Ran (\d+) tests? in", output)  # lines of ranks may run into each other
    if process.returncode == 0 and counts:
        return int(counts[0]), ""
    failed = re.findall(r"^(?:FAIL|ERROR): (\w+)", output, re.MULTILINE)
    return None, f"fails: {' '.join(sorted(set(failed)))}" if failed else f"ends with {process.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--limit", type=int, default=120, help="seconds for a module")
    parser.add_argument("--only", default="", help="modules whose name has a match")
    parser.add_argument("--under", default="", help="a command and its options, in place of the import of thence")
    parser.add_argument("work", type=Path)
    parser.add_argument("sources", type=Path, nargs="?")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    folder = arguments.sources or sources(arguments.work)
    if folder is None:
        return SKIPPED
    launcher = os.environ["MPI_LAUNCHER"].split()
    version = subprocess.run([sys.executable, "-c", VERSION], capture_output=True, text=True, check=True).stdout
    modules = sorted(path.stem for path in (folder / "test").glob("test_*.py") if re.search(arguments.only, path.stem))
    under = shlex.split(arguments.under)
    passed, tests, faults = 0, 0, 0
    for ranks in map(int, arguments.ranks.split(",")):
        for number, module in enumerate(modules, 1):
            if sys.stdout.isatty():
                print(f"\r\x1b[K{ranks} ranks, {number} of {len(modules)}: {module}", end="", flush=True)
            alone = [sys.executable, "-m", "unittest", module]
            with_thence = [*under, "--", *alone] if under else [sys.executable, "-c", WITH_THENCE, module]
            count, why = run(launcher, ranks, with_thence, folder / "test", arguments.limit)
            if count is not None:
                passed, tests = passed + 1, tests + count
                continue
            known = None if under else next(
                (text for (mpi, name), text in KNOWN.items() if name == module and version.startswith(mpi)), None)
            if known:
                print(f"known: {module} on {ranks}: {why}: {known}", flush=True)
                continue
            plain, why_plain = run(launcher, ranks, alone, folder / "test", arguments.limit)
            faults += plain is not None
            print(f"{'FAULT' if plain is not None else 'of MPI'}: {module} on {ranks}: {why}; without thence: "
                  f"{why_plain or 'passes'}", flush=True)
    runs = len(modules) * len(arguments.ranks.split(","))
    print(f"{passed} of {runs} runs of modules pass {'under ' + arguments.under if under else 'with thence'} ({tests} tests a rank), "
          f"{faults} fail with thence alone")
    return 1 if faults or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
