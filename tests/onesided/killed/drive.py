#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: drive.py PROGRAM LAUNCHER...

Runs PROGRAM with three ranks, of which one is killed, by a launcher that lets the others go on."""

import os
import subprocess
import sys
import threading

SECONDS = 50

if os.environ.get("THENCE_ONESIDED") == "messages":
    # Without it MPICH 5 may send nothing more between the ranks that are left (docs/guide/one-sided.md). Debian's MPICH 4.0
    # needs no setting, and other MPIs do not know this one.
    os.environ["MPIR_CVAR_NOLOCAL"] = "1"

program, *launcher = sys.argv[1:]
version = subprocess.run([launcher[0], "--version"], capture_output=True, text=True, check=False).stdout
if "HYDRA" in version or "Intel" in version:
    # This launcher ends the others by SIGUSR1 or by a fault of its own, whatever its options say, when it sees that a
    # process or its connection has ended. So a shell stays in the place of the process, and keeps the connection.
    options, prefix = ["-disable-auto-cleanup"], ["/bin/sh", "-c", f'"$@"; exec sleep {SECONDS}', "sh"]
else:
    options, prefix = ["--enable-recovery"], []
command = [launcher[0], *options, *launcher[1:], "3", *prefix, program]
print(f"$ {' '.join(command)}", flush=True)
with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as job:
    late = threading.Timer(SECONDS, job.terminate)
    late.start()
    missing = {"rank 0 went on with 0 faults", "rank 1 went on with 0 faults"}
    for line in job.stdout:
        print(line, end="", flush=True)
        missing -= {line.strip()}
        if not missing:
            break
    late.cancel()
    job.terminate()
    job.stdout.read()
assert not missing, f"missing: {', '.join(sorted(missing))}"
