// SPDX-License-Identifier: BSD-3-Clause
// Whether blocking calls in tasks block the task, and the CR that their operations are registered with. What such a
// call does is in src/interpose/waiting/blocking_tasks.cpp.
#pragma once

#include "core/base/visibility.hpp"

#include <mpi.h>

#include <atomic>

namespace thence::task {

// True while blocking calls in tasks block the task. Blocking collectives of the whole process are then done by their
// nonblocking forms, since a collective of a task must match one that another process calls outside of tasks.
extern THENCE_INTERNAL std::atomic<bool> calls_block_tasks;

// From now on blocking calls in tasks block the task. `cr`: a live CR, with which the operations are registered.
void let_calls_block_tasks(MPI_Request cr) noexcept;
void let_calls_block_threads() noexcept;

// The CR of the last call of let_calls_block_tasks(). It may have been freed since.
MPI_Request cr_of_blocking_calls() noexcept;

} // namespace thence::task
