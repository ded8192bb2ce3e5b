// SPDX-License-Identifier: BSD-3-Clause
// What the files of libthence-tampi share: starting and stopping it. It stands on the public headers, and reports
// errors as the calls of thence.h do.
#pragma once

#include "core/api/errors.hpp"

#include <mpi.h>

#include <atomic>

namespace thence::tampi {

using api::fail;

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

} // namespace thence::tampi
