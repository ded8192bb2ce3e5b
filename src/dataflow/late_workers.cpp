// SPDX-License-Identifier: BSD-3-Clause
#include "dataflow/late_workers.hpp"

#include "core/base/spin_lock.hpp"
#include "dataflow/task_scheduler.hpp"
#include "dataflow/timer.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>

namespace thence::dataflow::late_workers {

void inspect(void *) noexcept;

namespace {

constexpr std::uint64_t period = 2'000'000; // nanoseconds
constexpr std::uint64_t long_period = 10'000'000;
constexpr int most_quiet = 50; // inspections that found all workers, before the period is long, or the timer stops

// Lock order: this lock before that of a scheduler.
constinit base::spin_lock lock;
constinit watched *schedulers = nullptr;
constinit std::atomic<int> count{0}; // of schedulers; changed under the lock
constinit bool timer_runs = false;
constinit int quiet = 0; // inspections in a row that found all workers

void start() noexcept {
    timer_runs = call_after(quiet < most_quiet ? period : long_period, inspect, nullptr);
}

} // namespace

void inspect(void *) noexcept {
    const std::scoped_lock guard(lock);
    bool lacking = false;
    for (watched *one = schedulers; one != nullptr; one = one->next_) {
        lacking = one->scheduler_.look_for_late_worker() || lacking;
    }
    quiet = lacking ? 0 : std::min(quiet + 1, most_quiet);
    timer_runs = false;
    if (quiet < most_quiet || (suspended_stacks.load(std::memory_order_relaxed) > 0 && count > 1)) {
        start();
    }
}

void watch() noexcept {
    if (count.load(std::memory_order_relaxed) < 2) {
        return;
    }
    const std::scoped_lock guard(lock);
    quiet = std::min(quiet, most_quiet - 1);
    if (!timer_runs) {
        start();
    }
}

watched::watched(task_scheduler &scheduler) noexcept : scheduler_(scheduler) {
    const std::scoped_lock guard(lock);
    next_ = schedulers;
    if (schedulers != nullptr) {
        schedulers->previous_ = this;
    }
    schedulers = this;
    count.fetch_add(1, std::memory_order_relaxed);
}

void watched::remove() noexcept {
    const std::scoped_lock guard(lock);
    (previous_ != nullptr ? previous_->next_ : schedulers) = next_;
    if (next_ != nullptr) {
        next_->previous_ = previous_;
    }
    count.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace thence::dataflow::late_workers
