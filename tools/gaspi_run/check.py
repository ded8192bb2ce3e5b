#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What gaspi_run gives to the launchers of MPIs, and what it refuses. Stand-ins of the launchers print their arguments."""

import os
import pathlib
import subprocess
import sys
import tempfile

COMMAND = sys.argv[1]
STAND_IN = """#!/bin/sh
if [ "$1" = --version ]; then echo "{version}"; exit 0; fi
for word in "$@"; do printf '<%s>' "$word"; done
case $1 in --hostfile | -f) echo; cat "$2" ;; esac
exit 7
"""
faults = []


def check(what, found, expected):
    if found != expected:
        faults.append(f"{what}: {found!r} instead of {expected!r}")


with tempfile.TemporaryDirectory(prefix="with blank ") as folder:
    folder = pathlib.Path(folder)
    for name, version in (("openmpi", "mpiexec (OpenRTE) 4.1.4"), ("prte", "mpirun (Open MPI) 5.0.7"), ("hydra", "HYDRA build details:")):
        (folder / name).write_text(STAND_IN.format(version=version))
        (folder / name).chmod(0o755)
    machines = folder / "machines"
    machines.write_text("a # the first\n\nb\na\nb\nc\n")
    (folder / "none").write_text("# nobody\n")

    def run(launcher, *words):
        done = subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False,
                              env={**os.environ, "GASPI_MPIEXEC": str(folder / launcher), "TMPDIR": str(folder)})
        left = list(folder.glob("gaspi_run.*"))
        check(f"files that are left by {words}", left, [])
        return done

    def arguments(launcher, *words):
        done = run(launcher, *words)
        check(f"exit status of {words}", done.returncode, 7)
        lines = done.stdout.splitlines()
        parts = lines[0][1:-1].split("><")
        if parts[0] in ("--hostfile", "-f"):
            parts[1] = "FILE"
        return " ".join(parts), lines[1:]

    for launcher in ("openmpi", "prte"):
        check(launcher, arguments(launcher, "-n", "3", "./program", "-n", "a b"), ("-n 3 ./program -n a b", []))
        check(launcher, arguments(launcher, "-m", str(machines), "./p"),
              ("--hostfile FILE -n 5 ./p", ["a slots=2", "b slots=2", "c slots=1"]))
        check(launcher, arguments(launcher, "-m", str(machines), "-n", "2", "-N", "./p"),
              ("--hostfile FILE --bind-to numa -n 2 ./p", ["a slots=1", "b slots=1"]))
    check("hydra", arguments("hydra", "--machinefile", str(machines), "-n", "3", "--numa", "--", "./p", "x"),
          ("-f FILE -bind-to numa -n 3 ./p x", ["a:2", "b:1"]))
    check("another first program", arguments("hydra", "-n", "4", "-b", "./first", "./p", "x"),
          ("-n 1 ./first x : -n 3 ./p x", []))
    check("one process", arguments("hydra", "-n", "1", "-d", "./p", "x"), ("-n 1 gdb --args ./p x", []))
    check("under gdb", arguments("openmpi", "-n", "2", "--debug", "./p"), ("-n 1 gdb --args ./p : -n 1 ./p", []))

    for words, text in (((), "which program"), (("./p",), "how many processes"), (("-n",), "needs a value"),
                        (("-n", "0", "./p"), "no number of processes"), (("-n", "2x", "./p"), "no number of processes"),
                        (("-x", "./p"), "no option -x"), (("-m", str(folder / "missing"), "./p"), "cannot read"),
                        (("-m", str(folder / "none"), "./p"), "names no host"),
                        (("-m", str(machines), "-n", "6", "./p"), "5 lines")):
        done = run("openmpi", *words)
        check(f"exit status of {words}", done.returncode, 2)
        check(f"text of {words}", text in done.stderr, True)
        check(f"output of {words}", done.stdout, "")
    done = run("openmpi", "-h")
    check("help", (done.returncode, done.stdout.startswith("usage: gaspi_run")), (0, True))

for each in faults:
    print(each)
sys.exit(1 if faults else 0)
