# SPDX-License-Identifier: BSD-3-Clause
"""Loads the library that fits the MPI of mpi4py, and declares its functions.

A library of Thence is for one ABI of MPI: that of Open MPI, that of MPICH, or the standard one. mpi4py has chosen an
MPI before. This module asks which, and loads ``lib/ABI/libthence-python.so``.
"""

import atexit
import contextlib
import ctypes
import functools
import logging
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

try:
    from mpi4py import MPI
except ImportError as error:
    raise ImportError(f"thence needs mpi4py and an MPI that it can load (pip install mpi4py): {error}") from error

from thence._mpi import abi_of_mpi4py, find_library, mpi_libraries

logger = logging.getLogger("thence")

# The longest sleep of the thread that makes progress while completions come, in nanoseconds.
LONGEST_SLEEP = 90_000
FLAG_PERSISTENT, FLAG_SOON = 1, 2

_Pointers = ctypes.POINTER(ctypes.c_void_p)
_Integers = ctypes.POINTER(ctypes.c_int)


def _load():
    version = MPI.Get_library_version()
    libraries = mpi_libraries(Path("/proc/self/maps").read_text())
    abi = abi_of_mpi4py(MPI._sizeof(MPI.Request), libraries, version)
    path = find_library(Path(__file__).parent / "lib", abi, version)
    # mpi4py loads MPI for itself alone. Thence's library finds MPI's functions among the global ones.
    for each in libraries:
        with contextlib.suppress(OSError):
            ctypes.CDLL(each, ctypes.RTLD_GLOBAL | os.RTLD_NOLOAD)
    try:
        entering, staying = ctypes.CDLL(str(path)), ctypes.PyDLL(str(path))
    except OSError as error:
        raise ImportError(f"thence cannot load {path}: {error}") from error
    loaded = mpi_libraries(Path("/proc/self/maps").read_text())
    if set(loaded) - set(libraries):
        raise ImportError(
            f"{path} was built with another MPI than mpi4py uses ({', '.join(loaded)} are both loaded now): "
            f"install thence again with the mpicc of the MPI of mpi4py in PATH"
        )
    return entering, staying, abi


# `_entering` releases the global lock in a call. `_staying` does not: for calls that do not enter MPI.
_entering, _staying, ABI = _load()


def _declare(library, name, result, *parameters):
    function = getattr(library, f"thence_python_{name}")
    function.restype, function.argtypes = result, parameters
    return function


start = _declare(_entering, "start", ctypes.c_int, ctypes.c_int64)
stop = _declare(_entering, "stop", None)
open_channel = _declare(_entering, "open", ctypes.c_void_p, _Integers)
close_channel = _declare(_entering, "close", ctypes.c_int, ctypes.c_void_p)
attach = _declare(
    _entering, "attach", None,
    ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p,
)
cancel = _declare(_entering, "cancel", ctypes.c_int, ctypes.c_void_p)
poll = _declare(_entering, "poll", ctypes.c_int)
deliver = _declare(_entering, "deliver", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
drain = _declare(_staying, "drain", ctypes.c_int, ctypes.c_void_p, _Pointers, _Integers, ctypes.c_int)
outstanding = _declare(_staying, "outstanding", ctypes.c_int64)

_lock = threading.Lock()
_forked = False
_thread = None  # None: not decided yet. Else whether the thread runs.
_before_finalize: list[Callable[[], tuple[int, int]]] = []


def call_before_finalize(function):
    """Have a function called once before MPI is finalized, while the thread that makes progress still runs.

    It cancels what is pending, and returns how many operations were pending and how many are.
    """
    _before_finalize.append(function)


def add_up(counts):
    """Return the sum of such pairs."""
    counts = list(counts)
    return sum(asked for asked, _ in counts), sum(left for _, left in counts)


def forked():
    """Return whether this process was forked from one in which MPI was initialized: it must not call MPI."""
    return _forked


def require():
    """Check that MPI can be used, and start the thread that makes progress.

    Returns
    -------
    bool
        Whether that thread runs. If not, each loop has to poll.

    Raises
    ------
    RuntimeError
        MPI is not active, or this process was forked from one in which it was.
    """
    global _thread
    if _thread is not None and not _forked:
        return _thread
    if _forked:
        raise RuntimeError(
            "thence cannot be used in a process that was forked after MPI was initialized; "
            "start it with multiprocessing's method `spawn`, and without MPI"
        )
    if not MPI.Is_initialized() or MPI.Is_finalized():
        raise RuntimeError("thence needs MPI between MPI.Init() and MPI.Finalize()")
    with _lock:
        if _thread is None:
            started = start(LONGEST_SLEEP)
            if started < 0:
                raise RuntimeError("the system has refused the thread that makes progress")
            _thread = started == 1
    return _thread


def _wind_up():
    global _thread
    if _thread is None or _forked:
        return
    asked, left = add_up(function() for function in _before_finalize)
    if asked:
        report(
            f"MPI is finalized with {asked} operations pending; "
            + (f"MPI has not cancelled {left} of them" if left else "all of them were cancelled or have completed")
        )
    with _lock:
        stop()
        _thread = None


def _wrap_finalize():
    finalize = MPI.Finalize

    @functools.wraps(finalize)
    def finalize_after_thence():
        _wind_up()
        return finalize()

    MPI.Finalize = finalize_after_thence


def _after_fork():
    global _forked
    _forked = _forked or MPI.Is_initialized()


# MPI must find no other thread in it when it is finalized. mpi4py does that at exit, after Python's own exit functions.
atexit.register(_wind_up)
_wrap_finalize()
os.register_at_fork(after_in_child=_after_fork)


def progress() -> str:
    """Say who makes progress for the awaited operations.

    Returns
    -------
    str
        ``"thread"``; or ``"loop"`` if MPI was initialized below ``MPI.THREAD_MULTIPLE``, so that each event loop polls.
    """
    return "thread" if require() else "loop"


def report(text):
    """Print a line on standard error: for what nobody can catch."""
    print(f"thence: {text}", file=sys.stderr, flush=True)
