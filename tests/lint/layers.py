# SPDX-License-Identifier: BSD-3-Clause
"""The tables of docs/architecture.md: which room lies above which. A new folder gets its line here."""

import re

# Rooms of src/, lowest first; those of one line are neighbours, which know nothing of each other.
SRC_LAYERS = [
    {"base"},
    {"mpi"},
    {"engine"},
    {"progress"},
    {"continuation"},
    {"task", "rma", "grequest", "stream", "threadcomm", "datatype"},
    {"interpose", "dataflow"},
    {"c_api", "pmpi", "diagnose"},
    {"senders"},
    {"pools"},
]
# Libraries of their own above libthence-core: they include their own files and public headers, no other room.
SRC_OVER_PUBLIC_HEADERS = {"senders", "pools"}

# Rooms of include/thence/, lowest first. A folder is the room of its name.
HEADER_LAYERS = [
    {"detail"},  # words and locks, without MPI
    {"c"},
    {"adapter"},
    {"exec", "omp", "pthread", "threads", "future", "tbb", "fiber"},  # adapters to runtimes stand beside
    {"senders"},
    {"mpi", "pools", "dataflow"},
]
# The headers that programs include, each of a room. Where it has a folder too, nothing in there includes them.
HEADER_ROOMS = {
    "thence.h": "c",
    "mpix_continue.h": "c",
    "mpix_continue_forum.h": "c",
    "error.hpp": "adapter",
    "adapter.hpp": "adapter",
    "exec.hpp": "exec",
    "execution.hpp": "exec",
    "transform_mpi.hpp": "senders",
    "timers.hpp": "senders",
    "timeout.hpp": "senders",
    "mpi.hpp": "mpi",
    "pools.hpp": "pools",
    "omp.h": "omp",
    "pthread.h": "pthread",
    "threads.hpp": "threads",
    "future.hpp": "future",
    "tbb.hpp": "tbb",
    "fiber.hpp": "fiber",
}

# Names that only some rooms of src/ may say: (pattern, rooms, why not elsewhere).
RESERVED_NAMES = [
    # src/pmpi stands in front of MPI: it defines MPI_ names and passes calls on under their PMPI_ names.
    (re.compile(r"\bP?MPI_[A-Z][a-z]\w*\s*\("), {"mpi", "pmpi", "senders", "pools"},
     "outside src/mpi: go through its call table"),
    (re.compile(r"\b(?:OPEN_MPI|opal_progress)\b"), {"mpi", "engine"},
     "what one MPI does is known to src/engine and src/mpi"),
]
# The C API (functions of include/thence/*.h) is defined by this room; what lies below it does not call it.
C_API_ROOM = "c_api"

# Calls upwards that are still there: (file, name). Each goes with the rework of src/continuation; none comes.
KNOWN_FAULTS = {
    ("src/continuation/attach.cpp", "OPEN_MPI"),
    ("src/continuation/handle.hpp", "OPEN_MPI"),
    ("src/continuation/interposing.cpp", "opal_progress"),
    ("src/continuation/interposing.cpp", "thence_test"),
    ("src/continuation/run.cpp", "opal_progress"),
}


def heights(layers):
    return {room: height for height, layer in enumerate(layers) for room in layer}
