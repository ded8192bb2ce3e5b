# SPDX-License-Identifier: BSD-3-Clause
"""What scripts share that run programs one after the other: a progress bar, and a call that ends within a time."""

import os
import shutil
import signal
import subprocess
import sys
import time

GRACE = 10  # seconds that a command gets to end its ranks


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
