// SPDX-License-Identifier: BSD-3-Clause
// The task runtimes that are added, and the current task (thence/task_runtime.h).
//
// Invariant: a runtime keeps its slot from add() to remove(). The callback of an operation that belongs to a task has
// room for the task's handle only; the slot is in the address of the callback, one for each slot.
#pragma once

#include "core/base/visibility.hpp"

#include <thence/task_runtime.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace thence::task {

inline constexpr int most_runtimes = 8;

enum class add_result { added, full, added_already };
add_result add(const thence_task_runtime &runtime) noexcept;
// Returns false if it is not added.
bool remove(const thence_task_runtime &runtime) noexcept;
// The runtime that is asked as number `index`, or null.
const thence_task_runtime *asked(int index) noexcept;
// The runtimes in their slots; null: free.
extern std::array<std::atomic<const thence_task_runtime *>, most_runtimes> THENCE_HIDDEN slots;
inline const thence_task_runtime *in_slot(int slot) noexcept {
    return slots[static_cast<std::size_t>(slot)].load(std::memory_order_acquire);
}
// Calls `visit` for each runtime that is added. None is removed meanwhile, so this waits for remove() and add().
void for_each(void (*visit)(const thence_task_runtime &runtime, void *data), void *data);
// The slot of a runtime, or -1. Most programs add one or two, so the search is short.
inline int slot_of(const thence_task_runtime *runtime) noexcept {
    for (int slot = 0; slot < most_runtimes; ++slot) {
        if (in_slot(slot) == runtime) {
            return slot;
        }
    }
    return -1;
}

// The current task; without one, both fields are null.
thence_task current() noexcept;

// False: MPI calls of this thread block the thread and neither its task nor the end of that.
extern thread_local constinit bool THENCE_HIDDEN thread_is_aware;

// The task to which operations of this thread can be bound: the current one, if the thread is aware and the runtime has
// events. Null without one. The object belongs to the thread, and the next call changes it.
const thence_task *with_events() noexcept;

// For each slot, the callback that lowers one event of a task, whose handle is the data.
extern const std::array<thence_callback *, most_runtimes> THENCE_HIDDEN lowering;

// The table over ALPI, or null; `why` gets a text.
const thence_task_runtime *alpi(const char *&why) noexcept;
// The table of plain threads.
extern const thence_task_runtime threads;

// The table of detached tasks, and the begin and the end of the body of one. Begin is false without memory, end outside
// of any. From pause to resume there is no current one; resume is false if a body that has begun meanwhile has not
// ended.
extern const thence_task_runtime detached_tasks;
bool detached_begin(void (*complete)(void *event), void *event) noexcept;
bool detached_end() noexcept;
void *detached_pause() noexcept;
bool detached_resume(void *paused) noexcept;

} // namespace thence::task
