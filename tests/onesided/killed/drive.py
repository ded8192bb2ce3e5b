#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: drive.py PROGRAM LAUNCHER...

Runs PROGRAM with three ranks by a launcher that goes on when a rank is killed."""

import subprocess
import sys

program, *launcher = sys.argv[1:]
version = subprocess.run([launcher[0], "--version"], capture_output=True, text=True, check=False).stdout
if "HYDRA" in version or "Intel" in version:
    # Some versions ignore the option if a rank dies of a signal, so the shell hides the signal from them.
    options, prefix = ["-disable-auto-cleanup"], ["/bin/sh", "-c", '"$@"; true', "sh"]
else:
    options, prefix = ["--enable-recovery"], []
command = [launcher[0], *options, *launcher[1:], "3", *prefix, program]
try:
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    output, errors, code = done.stdout, done.stderr, done.returncode
except subprocess.TimeoutExpired as late:
    output, errors, code = str(late.stdout), str(late.stderr), "none: it hangs"
print(f"$ {' '.join(command)}\n{output}{errors}exit code {code}")
for rank in (0, 1):
    assert f"rank {rank} went on with 0 faults" in output, f"rank {rank} did not go on"
