// SPDX-License-Identifier: BSD-3-Clause
// Finds calls of the idle poll that take longer than 2 to 4 ms. A worker that polls counts as one that searches, so that a task for which it
// finds a message needs no other thread. But the poll runs callbacks, and while one of them lasts the worker takes no task.
// Then another worker must be called. A timer looks at all workers that poll, every `period`.
//
// Invariant: if a worker is inside one call of the poll at two looks in a row, its crew has been told that it is late. So
// that is known after two periods at most. If the timer cannot go on for want of memory, that holds
// again from the next add(). The timer runs while workers poll, and for `most_quiet` periods more.
#pragma once

#include <atomic>
#include <cstdint>

namespace thence::dataflow {

class crew;

namespace poll_watchdog {

// A worker that polls. It lies on the worker's stack.
struct poller {
    crew &of;
    std::atomic<std::uint64_t> calls{1}; // of the poll; only the worker changes it
    std::uint64_t seen = 0;              // at the last look
    bool late = false;
    poller *previous = nullptr;
    poller *next = nullptr;

    explicit poller(crew &its) noexcept : of(its) {}
    void begins_call() noexcept { calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
};

// @return false if there is no memory, or no thread, for the timer: then `added` is not watched.
bool add(poller &added) noexcept;
// @return whether the crew has been told that it is late.
bool remove(poller &removed) noexcept;

} // namespace poll_watchdog

} // namespace thence::dataflow
