#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_thread_local.py LIBRARY...

dlopen() loads a library with initial-exec thread-local variables only while the process has room for all of them, a few
hundred bytes for all libraries of a process. So each of ours has at most 256 bytes, and together they have at most 512.
"""

import subprocess
import sys
from pathlib import Path

OF_ONE, OF_ALL = 256, 512


def thread_local_bytes(library):
    """The size in memory of the segment of thread-local variables."""
    text = subprocess.check_output(["readelf", "-lW", library], text=True)
    rows = [line.split() for line in text.splitlines() if line.split()[:1] == ["TLS"]]
    return sum(int(row[5], 16) for row in rows)


def main():
    sizes = {Path(library).name: thread_local_bytes(library) for library in sys.argv[1:]}
    for name, size in sizes.items():
        print(f"{name}: {size} bytes{f', more than {OF_ONE}' if size > OF_ONE else ''}")
    total = sum(sizes.values())
    print(f"together {total} of {OF_ALL}")
    return 1 if total > OF_ALL or max(sizes.values()) > OF_ONE or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
