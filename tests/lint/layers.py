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
    {"am": [{""}],
     "mpix": [{"datatype"}, {"messages"}, {"grequest", "threadcomm", "queues"}, {"streams"}, {"enqueue"}, {""}],
     "onesided": [{"memory", "notification"}, {"wire"}, {""}, {"gaspi"}, {"tagaspi"}],
     "tasks": [{""}, {"tampi"}]},
    {"interpose": [{"requests"}, {"waiting"}, {"calls"}]},
]
# Separate libraries. They may include their own files, public headers and what SRC_ONLY names, but no other room, and none
# includes them.
SRC_OVER_PUBLIC_HEADERS = {"tbb/workers", "tbb/senders", "tbb/pools", "tbb/queues", "tasks/tampi", "onesided/gaspi", "onesided/tagaspi",
                           "dataflow/alpi", "am"}

# Rooms that may include and name only these others.
SRC_ONLY = {
    "tbb/workers": set(),
    "tbb/senders": {"core/base"},
    "tbb/pools": {"tbb/workers"},
    "tbb/queues": {"core/base", "tbb/workers"},
    "dataflow": {"core/base", "tbb/workers"},
    "tasks/tampi": {"core/api"}, # how errors are reported
    "am": {"core/base", "core/api"},
    "onesided/gaspi": {"onesided", "onesided/memory", "onesided/notification", "onesided/wire"},
    "onesided/tagaspi": {"onesided", "onesided/gaspi", "onesided/notification"},
    # An interposed call asks `interpose` what there is to do. On a continuation request it is a call of the API, on a
    # thread communicator one of `threadcomm`, and `streams` knows what holds for the communicator of a stream.
    "interpose/calls": {"interpose/requests", "interpose/waiting", "core/api", "mpix/threadcomm", "mpix/streams"},
}
# The namespaces of rooms; that of any other room has the name of its folder.
NAMESPACES = {"tasks": "task", "interpose/requests": "interpose",
              "interpose/waiting": "interpose", "interpose/calls": "pmpi", "mpix": "api"}
# Namespaces whose name is also that of a class: `task::` may name either. The doors that have such a class.
ALSO_CLASSES = {"task": {"tbb", "dataflow"}}

# The doors of include/thence/, in the same form; each is the door of src/ that the headers are the surface of, but `exec`,
# which has no library. The order is not that of src/: the libraries of `tbb` are built over public headers, and their
# headers give C++ to those of other doors.
HEADER_DOORS = [
    {"core": [{"detail"}, {"api"}, {"adapter"}]},
    {"exec": [{""}],
     "dataflow": [{""}],
     "mpix": [{"datatype", "grequest", "threadcomm", "streams"}, {"enqueue"}, {""}],
     "onesided": [{""}],
     "am": [{"offload"}, {""}],
     # The adapters to runtimes are neighbours.
     "tasks": [{""}, {"omp", "pthread", "threads", "future", "tbb", "fiber", "argobots", "qthreads"}]},
    {"tbb": [{"senders"}, {"mpi", "notify", "am", "pools", "queues"}]},
]
# The room of each header that programs include, and of each folder. No file of a folder includes a header that programs
# include for that room.
HEADER_ROOMS = {
    "detail": "core/detail", # words, locks, threads, a message of MPI: without the library
    "thence.h": "core/api",
    "mpix_continue.h": "core/api",
    "mpix_continue_forum.h": "core/api",
    "backoff.h": "core/api",
    "error.hpp": "core/adapter",
    "adapter.hpp": "core/adapter",
    "exec": "exec",
    "exec.hpp": "exec",
    "execution.hpp": "exec",
    "dataflow": "dataflow",
    "dataflow.h": "dataflow",
    "dataflow.hpp": "dataflow",
    "type_iov.h": "mpix/datatype",
    "type_iov.hpp": "mpix/datatype",
    "grequest.h": "mpix/grequest",
    "mpix_grequest.h": "mpix/grequest",
    "threadcomm.h": "mpix/threadcomm",
    "stream.h": "mpix/streams",
    "enqueue.h": "mpix/enqueue",
    "enqueue_collectives.h": "mpix/enqueue",
    "extensions.h": "mpix",
    "progress.h": "mpix",
    "mpix.h": "mpix",
    "offload": "am/offload",
    "offload.hpp": "am/offload",
    "notify.h": "onesided",
    "am.h": "am",
    "am.hpp": "tbb/am",
    "events.h": "tasks",
    "task_runtime.h": "tasks",
    "task_table.h": "tasks",
    "omp.h": "tasks/omp",
    "pthread.h": "tasks/pthread",
    "threads.hpp": "tasks/threads",
    "future.hpp": "tasks/future",
    "tbb.hpp": "tasks/tbb",
    "fiber.hpp": "tasks/fiber",
    "argobots.h": "tasks/argobots",
    "qthreads.h": "tasks/qthreads",
    "senders": "tbb/senders",
    "transform_mpi.hpp": "tbb/senders",
    "timers.hpp": "tbb/senders",
    "timeout.hpp": "tbb/senders",
    "mpi": "tbb/mpi",
    "mpi.hpp": "tbb/mpi",
    "notify.hpp": "tbb/notify",
    "pools": "tbb/pools",
    "pools.hpp": "tbb/pools",
    "host_queue.h": "tbb/queues",
    "host_queue.hpp": "tbb/queues",
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


def rooms(doors):
    """The rooms of DOORS or HEADER_DOORS, lowest first, as sets of neighbours: for each line of doors, those of its doors
    one after another."""
    return [{room(door, folder) for folder in layer} for line in doors for door, layers in line.items() for layer in layers]


def heights(doors):
    """For each room the height of its door and, inside the door, its own."""
    return {room(door, folder): (height, inside) for height, line in enumerate(doors) for door, layers in line.items()
            for inside, layer in enumerate(layers) for folder in layer}
