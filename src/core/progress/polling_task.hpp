// SPDX-License-Identifier: BSD-3-Clause
// A task of a task runtime that polls for operations of tasks that no helper thread completes, as the services of TAMPI
// do: the first task that has such an operation outstanding starts it, it sleeps in the runtime between polls, and it
// ends when nothing is outstanding any more. While a helper thread polls, for other operations, the task does not: it
// runs what the helper has found and may not run.
//
// Protocol: at its end the task says that it no longer runs, then checks whether anything is outstanding. Who makes
// something outstanding first registers it, then reads whether the task runs. Who changes "runs" from no to yes polls,
// or starts the task that does. All is sequentially consistent. So at most one task polls, and none ends while an
// operation is outstanding whose task saw it run. Where the runtime refuses to start it, whose operation comes next
// tries again.
#pragma once

#include "core/base/visibility.hpp"

#include <atomic>
#include <cstdint>

namespace thence::progress {

// Starts a task that calls poll_in_task() until that says that it ends. False: it could not be started.
using start_polling_task = bool() noexcept;
extern THENCE_HIDDEN std::atomic<start_polling_task *> polling_task; // null: there is none
// Waits until the runtime has ended each task that was started. It is called once poll_in_task() says that it ends.
using await_polling_task = void() noexcept;
void set_polling_task(start_polling_task *start, await_polling_task *await) noexcept;
// From now on none is started; one that runs goes on until it ends.
void forget_polling_task() noexcept;

enum class run_by { application, any_thread }; // whether the helper thread may run the callback of an operation
// Called in a task after an operation of it has become outstanding.
void require_polling_task(run_by who) noexcept;
// Without one require_polling_task() does nothing.
inline bool has_polling_task() noexcept {
    return polling_task.load(std::memory_order_relaxed) != nullptr;
}

struct task_turn {
    bool ends;
    std::uint64_t pause; // nanoseconds until the next turn
};
// A turn of the task: polls, and runs what is ready.
task_turn poll_in_task() noexcept;

// Internal to this folder.
void polling_task_set_up() noexcept;
// Waits until the task has ended: the program may shut its runtime down after MPI_Finalize.
void polling_task_tear_down() noexcept;

} // namespace thence::progress
