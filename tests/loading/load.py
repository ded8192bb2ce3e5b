#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: load.py PLUGIN MPI local|global before|after

Loads PLUGIN, which is linked with this library, into Python by ctypes, with RTLD_LOCAL or RTLD_GLOBAL. `before`: PLUGIN
initializes MPI afterwards; `after`: Python has loaded MPI, the shared library, and initialized it.
"""

import ctypes
import sys


def main():
    plugin, mpi, mode, order = sys.argv[1:]
    mode = {"local": ctypes.RTLD_LOCAL, "global": ctypes.RTLD_GLOBAL}[mode]
    first = order == "before"
    if not first:
        mpi = ctypes.CDLL(mpi, mode=ctypes.RTLD_GLOBAL)
        mpi.MPI_Init(None, None)
    status = ctypes.CDLL(plugin, mode=mode).use_thence(int(first), int(first))
    if not first:
        mpi.MPI_Finalize()
    return status


if __name__ == "__main__":
    sys.exit(main())
