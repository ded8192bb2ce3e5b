// SPDX-License-Identifier: BSD-3-Clause
// Threads in place of workers that were called and do not come.
//
// A worker of oneTBB can leave an arena only from its thread's first stack. While that is suspended, in a task, the
// thread stays. oneTBB still counts it as one that can go to other arenas, and sends none in its place. So a flow may
// wait for ever for its worker, perhaps with the task that is to resume that stack. It may also count a thread twice
// that runs a long task where another one has found nothing.
//
// While there are several schedulers, a timer inspects them every `period`. If the same worker, or a thread for a stack
// that is to be resumed, is lacking at two inspections in a row, a thread is made that runs tasks in its place.
// Invariant, under the lock: while a scheduler lacks one or a stack is suspended, the timer runs, unless there is no
// memory for it; then the next watch() starts it. Every other event after which a worker may be lacking
// calls watch().
//
// Pools have no such timer: work of a pool may wait for a thread while tasks of flows are suspended.
#pragma once

#include <atomic>

namespace thence::dataflow {

class task_scheduler;

namespace late_workers {

// In the list of all schedulers. The object is a part of its scheduler.
class watched {
public:
    explicit watched(task_scheduler &scheduler) noexcept;
    watched &operator=(watched &&) = delete;
    void remove() noexcept;

private:
    friend void inspect(void *) noexcept;
    task_scheduler &scheduler_;
    watched *previous_ = nullptr;
    watched *next_ = nullptr;
};

// Stacks of all schedulers that are suspended.
inline constinit std::atomic<int> suspended_stacks{0};
// Call it after a worker was called, and after a stack was counted in `suspended_stacks`.
void watch() noexcept;

} // namespace late_workers

} // namespace thence::dataflow
