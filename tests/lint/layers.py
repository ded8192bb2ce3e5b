# SPDX-License-Identifier: BSD-3-Clause
"""The order of the layers, as in docs/architecture.md. A new folder needs an entry here."""

import re

# Doors of src/, lowest first; a door is a folder of src/. Doors in one line are neighbours. For each door its rooms, lowest
# first, neighbours in one line. A room is a folder of the door; the room of the door's own files, "", lies where it stands.
# Neighbours must not include each other. A room of a higher door may include any room of a lower one.
DOORS = [
    {"core": [{"base"}, {"mpi"}, {"engine"}, {"progress"}, {"continuation"}, {"diagnose"}, {"api"}]},
    {"tbb": [{"workers"}, {"senders", "queues"}, {"pools"}]},
    {"dataflow": [{""}, {"alpi"}]},
    {"mpix": [{"datatype"}, {"messages"}, {"grequest", "threadcomm", "queues"}, {"streams"}, {"enqueue"}, {""}],
     "onesided": [{"memory", "notification"}, {"wire"}, {""}, {"gaspi"}],
     "tasks": [{""}, {"tampi"}]},
    {"interpose": [{"requests"}, {"waiting"}, {"calls"}]},
]
# Separate libraries. They may include their own files, public headers and what SRC_ONLY names, but no other room, and none
# includes them.
SRC_OVER_PUBLIC_HEADERS = {"tbb/workers", "tbb/senders", "tbb/pools", "tbb/queues", "tasks/tampi", "onesided/gaspi",
                           "dataflow/alpi"}

# Rooms that may include and name only these others.
SRC_ONLY = {
    "tbb/workers": set(),
    "tbb/pools": {"tbb/workers"},
    "tbb/queues": {"core/base", "tbb/workers"},
    "dataflow": {"core/base", "tbb/workers"},
    "tasks/tampi": {"core/api"}, # how errors are reported
    "onesided/gaspi": {"onesided", "onesided/memory", "onesided/notification", "onesided/wire"},
    # An interposed call asks `interpose` what there is to do. On a continuation request it is a call of the API, on a
    # thread communicator one of `threadcomm`, and `streams` knows what holds for the communicator of a stream.
    "interpose/calls": {"interpose/requests", "interpose/waiting", "core/api", "mpix/threadcomm", "mpix/streams"},
}
# The namespaces of rooms; that of any other room has the name of its folder.
NAMESPACES = {"tasks": "task", "interpose/requests": "interpose",
              "interpose/waiting": "interpose", "interpose/calls": "pmpi", "mpix": "api"}
# Namespaces whose name is also that of a class: `task::` may name either. The doors that have such a class.
ALSO_CLASSES = {"task": {"tbb", "dataflow"}}

# Rooms of include/thence/, lowest first. A folder is the room of its name.
HEADER_LAYERS = [
    {"detail"},  # words and locks, without MPI
    {"c"},
    {"adapter"},
    {"exec", "omp", "pthread", "threads", "future", "tbb", "fiber", "argobots",
     "qthreads", "type_iov"},  # the adapters to runtimes are neighbours
    {"senders"},
    {"mpi", "notify", "pools", "dataflow", "host_queue"},
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
    "mpix_grequest.h": "c",
    "progress.h": "c",
    "backoff.h": "c",
    "threadcomm.h": "c",
    "notify.h": "c",
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
    "notify.hpp": "notify",
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
    # src/interpose/calls defines MPI_ names and calls PMPI_ names.
    (re.compile(r"\bP?MPI_[A-Z][a-z]\w*\s*\("), {"core/mpi", "interpose/calls"} | SRC_OVER_PUBLIC_HEADERS,
     "outside src/core/mpi: go through its call table"),
    (re.compile(r"\bgetenv\b"), {"core/base", "core/mpi"}, "src/core/base/settings.cpp reads the environment variables of Thence"),
    (re.compile(r"\b(?:OPEN_MPI|opal_\w+|ompi_\w+|MPIX_Async_\w+|MPIX_Stream_\w+)\b"), {"core/mpi", "core/engine"},
     "what one MPI does is known to src/core/engine and src/core/mpi"),
]
# The files that define the C API (functions of include/thence/*.h), beside their features: core/api, and these elsewhere.
C_API_ROOM = "core/api"
C_API_FILE = re.compile(r"(^|_)api$")
# The other rooms that may call it. src/dataflow and src/mpix define a part themselves.
C_API_CALLERS = {C_API_ROOM, "mpix", "interpose/calls", "dataflow"} | SRC_OVER_PUBLIC_HEADERS


def room(door, folder):
    return f"{door}/{folder}" if folder else door


def src_rooms():
    """The rooms of src/, lowest first, as sets of neighbours: for each line of doors, those of its doors one after another."""
    return [{room(door, folder) for folder in layer} for line in DOORS for door, layers in line.items() for layer in layers]


def src_heights():
    """For each room of src/ the height of its door and, inside the door, its own."""
    return {room(door, folder): (height, inside) for height, line in enumerate(DOORS) for door, layers in line.items()
            for inside, layer in enumerate(layers) for folder in layer}


def heights(layers):
    return {room: height for height, layer in enumerate(layers) for room in layer}
