// SPDX-License-Identifier: BSD-3-Clause
// Who asks for the task that polls (core/progress/polling_task.hpp), and for which operations.
#pragma once

#include "core/progress/polling_task.hpp"

#include <mpi.h>

#include <thence/task_runtime.h>

namespace thence::task {

// Called when a runtime is added and removed: where it has ALPI, a task of it polls if no helper thread does.
void poll_in_tasks_of(const thence_task_runtime &runtime) noexcept;
void poll_no_longer_in_tasks_of(const thence_task_runtime &runtime) noexcept;

void require_polling_task_for(MPI_Request cr) noexcept;
// Called in a task after an operation of it has been attached through `cr`.
inline void let_a_task_poll_for(MPI_Request cr) noexcept {
    if (progress::has_polling_task()) [[unlikely]] {
        require_polling_task_for(cr);
    }
}

} // namespace thence::task
