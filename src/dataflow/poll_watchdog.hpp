// SPDX-License-Identifier: BSD-3-Clause
// Finds calls of the idle poll that last longer than 2 to 4 ms. A polling worker counts as searching, so that it runs
// the task that its poll makes ready. But the poll runs callbacks, and during a long one the worker takes no
// task. Then another worker must be called. A timer inspects all polling workers every `period`.
//
// Invariant: if a worker is in the same call of the poll at two inspections in a row, its scheduler has been told. The
// timer runs while workers poll, and for `most_quiet` periods more. If it stops for want of memory, the next add()
// starts it again.
#pragma once

#include <atomic>
#include <cstdint>

namespace thence::dataflow {

struct task;
class task_scheduler;

namespace poll_watchdog {

// A polling worker. The object is on its stack.
struct poller {
    task_scheduler &scheduler;
    std::atomic<std::uint64_t> calls{1}; // how many calls of the poll have begun; only the worker writes it
    std::uint64_t seen = 0;              // `calls` at the last inspection
    bool late = false;
    task *held = nullptr; // the worker will run it after the poll; under the lock of the scheduler
    poller *previous = nullptr;
    poller *next = nullptr;

    explicit poller(task_scheduler &polls_for) noexcept : scheduler(polls_for) {}
    void begins_call() noexcept { calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
};

// @return false if memory or a thread for the timer is missing. Then `added` is not watched.
bool add(poller &added) noexcept;
// @return whether polls_late() of its scheduler was called.
bool remove(poller &removed) noexcept;

} // namespace poll_watchdog

} // namespace thence::dataflow
