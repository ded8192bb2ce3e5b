# SPDX-License-Identifier: BSD-3-Clause
"""Finds out which MPI mpi4py uses. Run as a program it prints the ABI and the paths of the libraries."""

import ctypes
import re
from pathlib import Path


def mpi_libraries(maps):
    """Return the paths of the MPI libraries that ``/proc/self/maps``, given as text, names."""
    # libmpi_gnu_123.so, libmpi_cray.so: those of Cray, one for each compiler.
    name = r"libmpi(?:ch|_abi|_(?:cray|gnu|intel|nvidia|amd|aocc)[_0-9]*)?\.so[.0-9]*"
    found = re.findall(rf"^(?:\S+ +){{5}}(/.*/{name})$", maps, re.MULTILINE)
    return list(dict.fromkeys(found))


def abi_of_mpi4py(request_size, library_paths, library_version):
    """Name the ABI that mpi4py was built for: ``openmpi``, ``mpich`` or ``mpiabi``."""
    if request_size == ctypes.sizeof(ctypes.c_int):
        return "mpich"
    if any("libmpi_abi" in path for path in library_paths) or "Open MPI" not in library_version:
        return "mpiabi"
    return "openmpi"


def find_library(folder, abi, library_version):
    """Return the path of Thence's library for an ABI, or raise ImportError with what to do."""
    path = folder / abi / "libthence-python.so"
    if path.exists():
        return path
    there = ", ".join(sorted(p.parent.name for p in folder.glob("*/libthence-python.so"))) or "no MPI at all"
    name = library_version.splitlines()[0].strip("\0 ")
    raise ImportError(
        f"this installation of thence is for the ABI of {there}, but mpi4py uses {name} (ABI {abi}): "
        f"install thence again with the mpicc of that MPI in PATH"
    )


if __name__ == "__main__":
    import mpi4py

    mpi4py.rc.initialize = False  # so it needs no launcher
    from mpi4py import MPI

    found = mpi_libraries(Path("/proc/self/maps").read_text())
    print(abi_of_mpi4py(MPI._sizeof(MPI.Request), found, MPI.Get_library_version()), *found)
