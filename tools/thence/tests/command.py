# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the command `thence` share: a test program has one function per case, and CASE names one."""

import os
import subprocess
import sys

ENGINES = {"openmpi", "mpich", "testsome"}
SKIPPED = 77


def run(program, *arguments, **environment):
    return subprocess.run([program, *arguments], capture_output=True, text=True, env={**os.environ, **environment},
                          check=False)


def succeed(result, status=0):
    assert result.returncode == status, f"exit {result.returncode}: {result.stdout}{result.stderr}"
    return result.stdout


def main(cases, usage):
    """Calls the function of `cases`, the globals of the test program, that CASE names, with the other arguments."""
    if len(sys.argv) < 3 or sys.argv[1] not in cases:
        print(usage)
        return 2
    return cases[sys.argv[1]](*sys.argv[2:]) or 0
