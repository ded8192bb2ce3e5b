# SPDX-License-Identifier: BSD-3-Clause
"""What scripts share that run programs one after the other: how programs are launched here, a progress bar, and a call that ends
within a time."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import two_hosts

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GRACE = 10  # seconds that a command gets to end its ranks


def script():
    """What errors call the script that runs."""
    return os.path.splitext(os.path.basename(sys.argv[0]))[0]


def launcher(build):
    """The MPI launcher of a build folder, or that of the environment."""
    name = os.environ.get("MPIEXEC", "")
    if not name:
        try:
            with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
                found = re.search(r"^MPIEXEC_EXECUTABLE:[A-Z]*=(.+)$", file.read(), re.MULTILINE)
                name = found[1] if found else ""
        except OSError:
            pass
    name = name or "mpiexec"
    found = shutil.which(name)
    if not found:
        print(f"{script()}: no MPI launcher {name}; set MPIEXEC", file=sys.stderr)
        sys.exit(1)
    return found


def environment():
    """The environment of the tests: it allows to run as root and with more ranks than cores, and switches binding off.
    If other programs use the machine, a thread that spins while it waits may occupy the core that another thread needs; so
    waiting threads yield early, in MPI and in OpenMP. Variables that are set already are not changed."""
    variables = {}
    with open(os.path.join(ROOT, "cmake", "test_environment.txt"), encoding="utf-8") as file:
        variables.update(re.findall(r"^([A-Z]\w*)=(.*)$", file.read(), re.MULTILINE))
    return {"OMPI_MCA_mpi_yield_when_idle": "1", "GOMP_SPINCOUNT": "1000", **os.environ, **variables}


def python_with_figures():
    """A Python that has numpy and matplotlib; None if there is none here, which it says."""
    for name in (os.environ.get("PYTHON"), sys.executable, "/usr/bin/python3"):
        if name and shutil.which(name) and subprocess.run([name, "-c", "import numpy, matplotlib"], capture_output=True,
                                                          check=False).returncode == 0:
            return name
    print(f"{script()}: no figures, since no Python here has numpy and matplotlib; scripts/setup.sh demo installs them",
          file=sys.stderr)
    return None


def no_delay():
    """Why this machine cannot have two hosts; None if it can."""
    why = two_hosts.missing()
    if why is None:
        done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "two_hosts.py"), "--can-run"], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            why = done.stderr.strip().removeprefix("two_hosts: skipped: ") or f"two_hosts.py ended with {done.returncode}"
    return why


class Progress:
    """A bar on a terminal, else a line for each run. `total` may change while it runs."""

    def __init__(self, total):
        self.total, self.done, self.begun = total, 0, time.monotonic()

    def step(self, text):
        """Says what runs now."""
        if sys.stderr.isatty():
            filled = 30 * self.done // self.total
            left = (time.monotonic() - self.begun) / self.done * (self.total - self.done) if self.done else 0
            rest = f"about {left:.0f} s left" if self.done else ""
            line = f"[{'#' * filled}{'.' * (30 - filled)}] {self.done}/{self.total}  {text:<50.50} {rest:<20.20}"
            print("\r" + line[:shutil.get_terminal_size().columns - 1], end="", file=sys.stderr, flush=True)
        else:
            print(f"[{self.done + 1}/{self.total}] {text}", file=sys.stderr, flush=True)
        self.done += 1

    def end(self):
        """Removes the bar, so that a line can be printed."""
        if sys.stderr.isatty():
            print("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r", end="", file=sys.stderr, flush=True)


def call(command, seconds, variables, output):
    """Runs a command, and writes what it says to the open file `output`. Returns its exit status. After so many seconds, or if this
    script is interrupted, the command is ended, with the programs that it started: then subprocess.TimeoutExpired, or what
    interrupted the script, is raised."""
    with subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=variables, start_new_session=True) as process:
        try:
            return process.wait(seconds)
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)  # the launcher ends its ranks
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            raise
