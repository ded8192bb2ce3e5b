// SPDX-License-Identifier: BSD-3-Clause
// What the files of libthence-tampi share: starting and stopping it, its errors. It stands on the public headers alone.
#pragma once

#include <mpi.h>

#include <atomic>

namespace thence::tampi {

// The continuation request of all operations that are bound to tasks. It is set before `nonblocking`.
extern MPI_Request requests_of_tasks;
// True if the mode is on.
extern std::atomic<bool> nonblocking;
extern std::atomic<bool> blocking;
// Whether a wrapper of 3.0.1 has left a request to its user since the library was started. Otherwise all requests of
// wrappers are bound to tasks, and TAMPI_Wait has nothing to do. It must not look at them either: the tasks may write
// them meanwhile. One for all threads, since another thread may wait for what this one has started.
extern std::atomic<bool> left_a_request;

// Starts the library on an MPI that has the thread level `level`. Returns what it provides: MPI_TASK_MULTIPLE or
// `level`.
int start(int required, int level) noexcept;
void stop() noexcept;

enum class reason {
    null_pointer,
    null_request,
    null_requests,
    negative_count,
    no_property,
    read_only,
    no_flag,
    auto_init_too_late,
    mpi_inactive,
    auto_init,
    started_already,
    not_started,
    outstanding,
    count_, // how many there are
};
// Reports the error through the error handler of MPI_COMM_WORLD and returns its code. `call`: the public function.
int fail(const char *call, reason why) noexcept;
// The same for a pending request that stands twice in an array, at `first` and at `second`.
int fail_with_copies(const char *call, int first, int second) noexcept;

} // namespace thence::tampi
