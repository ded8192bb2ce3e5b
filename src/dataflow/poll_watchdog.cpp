// SPDX-License-Identifier: BSD-3-Clause
#include "dataflow/poll_watchdog.hpp"

#include "core/base/spin_lock.hpp"
#include "dataflow/task_scheduler.hpp"
#include "dataflow/timer.hpp"

#include <mutex>

namespace thence::dataflow::poll_watchdog {

namespace {

constexpr std::uint64_t period = 2'000'000; // nanoseconds
constexpr int most_quiet = 50;              // periods in which no worker polled, before the timer stops

// Lock order: this lock before that of a scheduler.
constinit base::spin_lock lock;
constinit poller *pollers = nullptr;
constinit bool timer_runs = false;
constinit int quiet = 0; // inspections in a row that found no polling worker

void inspect(void *) noexcept;

bool start() noexcept {
    return call_after(period, inspect, nullptr);
}

void inspect(void *) noexcept {
    const std::scoped_lock guard(lock);
    quiet = pollers == nullptr ? quiet + 1 : 0;
    for (poller *one = pollers; one != nullptr; one = one->next) {
        const std::uint64_t calls = one->calls.load(std::memory_order_relaxed);
        if (calls != one->seen) {
            one->seen = calls;
        } else if (!one->late) {
            one->late = true;
            one->scheduler.polls_late(*one);
        }
    }
    timer_runs = quiet < most_quiet && start();
}

} // namespace

bool add(poller &added) noexcept {
    const std::scoped_lock guard(lock);
    if (!timer_runs) {
        quiet = 0;
        timer_runs = start();
        if (!timer_runs) {
            return false;
        }
    }
    added.next = pollers;
    if (pollers != nullptr) {
        pollers->previous = &added;
    }
    pollers = &added;
    return true;
}

bool remove(poller &removed) noexcept {
    const std::scoped_lock guard(lock);
    (removed.previous != nullptr ? removed.previous->next : pollers) = removed.next;
    if (removed.next != nullptr) {
        removed.next->previous = removed.previous;
    }
    return removed.late;
}

} // namespace thence::dataflow::poll_watchdog
