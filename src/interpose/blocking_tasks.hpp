// SPDX-License-Identifier: BSD-3-Clause
// The way to wait of a task: a blocking call in a task blocks the task, not the thread that runs it.
#pragma once

#include "base/visibility.hpp"

#include <mpi.h>

#include <atomic>

namespace thence::interpose {

// From now on blocking calls in tasks block the task. `cr`: a live CR, with which the operations are registered. Returns
// false if there are too many strategies.
bool start_blocking_tasks(MPI_Request cr) noexcept;
void stop_blocking_tasks() noexcept;

// True while blocking calls in tasks block the task. Blocking collectives of the whole process are then done by their
// nonblocking forms, since a collective of a task must match one that another process calls outside of tasks.
extern THENCE_INTERNAL std::atomic<bool> collectives_by_nonblocking;

} // namespace thence::interpose
