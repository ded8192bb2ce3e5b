// SPDX-License-Identifier: BSD-3-Clause
// Threads in place of workers that were called and do not come.
//
// A worker of oneTBB can leave an arena only from its thread's first stack. While that is suspended, in a task, the
// thread stays. oneTBB still counts it as one that can go to other arenas, and sends none in its place. So a flow may
// wait for ever for its worker, perhaps with the task that is to resume that stack.
//
// While a stack is suspended and there are several schedulers, a timer inspects them every `period`. If the same worker
// is missing at two inspections in a row, a thread is made that runs tasks in its place. Invariant, under the lock: the
// timer runs while a worker may be missing. It stops only after inspections at which none was on its way, and what
// makes one missing calls watch().
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
// Called after a worker was called, and after a stack was counted in `suspended_stacks`.
void watch() noexcept;

} // namespace late_workers

} // namespace thence::dataflow
