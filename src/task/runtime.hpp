// SPDX-License-Identifier: BSD-3-Clause
// The task runtimes that are added, and the current task (thence/task_runtime.h).
//
// Invariant: a runtime keeps its slot from add() to remove(). The callback of an operation that belongs to a task has
// room for the task's handle only; the slot is in the address of the callback, one for each slot.
#pragma once

#include <thence/task_runtime.h>

namespace thence::task {

inline constexpr int most_runtimes = 8;

enum class add_result { added, full, added_already };
add_result add(const thence_task_runtime &runtime) noexcept;
// Returns false if it is not added.
bool remove(const thence_task_runtime &runtime) noexcept;
// The runtime that is asked as number `index`, or null.
const thence_task_runtime *asked(int index) noexcept;
// The slot of a runtime, or -1.
int slot_of(const thence_task_runtime *runtime) noexcept;

// The current task; without one, both fields are null.
thence_task current() noexcept;

// The callback that lowers one event of a task, whose handle is the data. `slot`: that of its runtime.
thence_callback *lowering(int slot) noexcept;

// The table over ALPI, or null; `why` gets a text.
const thence_task_runtime *alpi(const char *&why) noexcept;
// The table of plain threads.
extern const thence_task_runtime threads;

// The table of detached tasks, and the begin and the end of the body of one. Begin is false without memory, end outside
// of any.
extern const thence_task_runtime detached_tasks;
bool detached_begin(void (*complete)(void *event), void *event) noexcept;
bool detached_end() noexcept;

} // namespace thence::task
