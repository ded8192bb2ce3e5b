// SPDX-License-Identifier: BSD-3-Clause
// The way to wait of a task: a blocking call in a task blocks the task, not the thread that runs it. It applies while
// the program has asked for it (thence_task_blocking_calls()).
#pragma once

#include "interpose/waiting/unchanged.hpp"
#include "interpose/waiting/wait_strategy.hpp"
#include "tasks/blocking_calls.hpp"

namespace thence::interpose {

extern THENCE_INTERNAL const wait_strategy blocking_tasks;

// True if blocking collectives are done by their nonblocking forms.
inline bool collectives_by_nonblocking() noexcept {
    return task::calls_block_tasks.load(std::memory_order_relaxed) ||
           all_ranks_leave_the_processor.load(std::memory_order_relaxed);
}

} // namespace thence::interpose
