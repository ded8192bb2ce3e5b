// SPDX-License-Identifier: BSD-3-Clause
// A task of a task runtime that polls for operations of tasks while there is no helper thread, as the services of TAMPI
// do: the first task that has an operation outstanding starts it, it sleeps in the runtime between polls, and it ends
// when nothing is outstanding any more.
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
// Null: from now on none is started; one that runs goes on until it ends.
void set_polling_task(start_polling_task *start) noexcept;

void require_polling_task() noexcept;
// Called in a task after an operation of it has become outstanding.
inline void engage_polling_task() noexcept {
    if (polling_task.load(std::memory_order_relaxed) != nullptr) [[unlikely]] {
        require_polling_task();
    }
}

struct task_turn {
    bool ends;
    std::uint64_t pause; // nanoseconds until the next turn
};
// A turn of the task: polls, and runs what is ready.
task_turn poll_in_task() noexcept;

// Internal to this folder.
void polling_task_set_up() noexcept;
void polling_task_tear_down() noexcept; // waits until the task is not inside MPI, which it does not enter again

} // namespace thence::progress
