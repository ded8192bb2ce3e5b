# SPDX-License-Identifier: BSD-3-Clause
"""The order of the layers, as in docs/architecture.md. A new folder needs an entry here."""

import re

# Rooms of src/, lowest first. Rooms in one line are neighbours, which must not include each other.
SRC_LAYERS = [
    {"base"},
    {"mpi"},
    {"engine", "datatype"},
    {"progress"},
    {"continuation"},
    {"endpoint"},
    {"task", "rma", "grequest", "stream", "threadcomm"},
    {"interpose"},
    {"c_api", "diagnose"},
    {"pmpi"},
    {"senders", "tampi", "queues"},
    {"pools"},
    {"dataflow"},
    {"alpi"},
]
# Separate libraries above libthence-core. They may include their own files and public headers, but no other room.
SRC_OVER_PUBLIC_HEADERS = {"senders", "pools", "tampi", "alpi", "queues"}

# Rooms that may include and name only these others.
SRC_ONLY = {
    "dataflow": {"base"},
    # An interposed call asks `interpose` what there is to do. On a continuation request it is a call of `c_api`, on a
    # thread communicator one of `threadcomm`, and `stream` knows what holds for the communicator of a stream.
    "pmpi": {"interpose", "c_api", "threadcomm", "stream"},
}
# Rooms whose name is also that of a class: `task::` may name either.
ALSO_CLASSES = {"task"}

# Rooms of include/thence/, lowest first. A folder is the room of its name.
HEADER_LAYERS = [
    {"detail"},  # words and locks, without MPI
    {"c"},
    {"adapter"},
    {"exec", "omp", "pthread", "threads", "future", "tbb", "fiber", "argobots",
     "qthreads", "type_iov"},  # the adapters to runtimes are neighbours
    {"senders"},
    {"mpi", "pools", "dataflow", "host_queue"},
]
# The headers that programs include, and the room of each. If the room also has a folder, no file in it includes them.
HEADER_ROOMS = {
    "thence.h": "c",
    "mpix_continue.h": "c",
    "mpix_continue_forum.h": "c",
    "events.h": "c",
    "task_runtime.h": "c",
    "task_table.h": "c",
    "extensions.h": "c",
    "grequest.h": "c",
    "progress.h": "c",
    "backoff.h": "c",
    "threadcomm.h": "c",
    "mpix.h": "c",
    "type_iov.h": "c",
    "stream.h": "c",
    "enqueue.h": "c",
    "enqueue_collectives.h": "c",
    "error.hpp": "adapter",
    "adapter.hpp": "adapter",
    "exec.hpp": "exec",
    "execution.hpp": "exec",
    "transform_mpi.hpp": "senders",
    "timers.hpp": "senders",
    "timeout.hpp": "senders",
    "mpi.hpp": "mpi",
    "pools.hpp": "pools",
    "dataflow.hpp": "dataflow",
    "dataflow.h": "dataflow",
    "host_queue.h": "host_queue",
    "host_queue.hpp": "host_queue",
    "omp.h": "omp",
    "pthread.h": "pthread",
    "threads.hpp": "threads",
    "future.hpp": "future",
    "tbb.hpp": "tbb",
    "type_iov.hpp": "type_iov",
    "fiber.hpp": "fiber",
    "argobots.h": "argobots",
    "qthreads.h": "qthreads",
}

# Names that only some rooms of src/ may use: (pattern, rooms, reason).
RESERVED_NAMES = [
    # src/pmpi interposes MPI: it defines MPI_ names and calls PMPI_ names.
    (re.compile(r"\bP?MPI_[A-Z][a-z]\w*\s*\("), {"mpi", "pmpi", "senders", "pools", "tampi", "queues"},
     "outside src/mpi: go through its call table"),
    (re.compile(r"\bgetenv\b"), {"base", "mpi"}, "src/base/settings.cpp reads the environment variables of Thence"),
    (re.compile(r"\b(?:OPEN_MPI|opal_\w+|ompi_\w+|MPIX_Async_\w+|MPIX_Stream_\w+)\b"), {"mpi", "engine"},
     "what one MPI does is known to src/engine and src/mpi"),
]
# The room that defines the C API (functions of include/thence/*.h), and the rooms that may call it.
C_API_ROOM = "c_api"
# src/dataflow defines the C names of thence/dataflow.h itself.
C_API_CALLERS = {C_API_ROOM, "pmpi", "dataflow"} | SRC_OVER_PUBLIC_HEADERS

def heights(layers):
    return {room: height for height, layer in enumerate(layers) for room in layer}
