// SPDX-License-Identifier: BSD-3-Clause
#include "dataflow/late_workers.hpp"

#include "core/base/spin_lock.hpp"
#include "dataflow/task_scheduler.hpp"
#include "dataflow/timer.hpp"

#include <cstdint>
#include <mutex>

namespace thence::dataflow::late_workers {

void inspect(void *) noexcept;

namespace {

constexpr std::uint64_t period = 2'000'000; // nanoseconds
constexpr int most_quiet = 50;              // periods in which no worker was missing, before the timer stops

// Lock order: this lock before that of a scheduler.
constinit base::spin_lock lock;
constinit watched *schedulers = nullptr;
constinit std::atomic<int> count{0}; // of schedulers; changed under the lock
constinit bool timer_runs = false;
constinit int quiet = 0; // inspections in a row that found no worker on its way

void start() noexcept {
    timer_runs = call_after(period, inspect, nullptr);
}

} // namespace

void inspect(void *) noexcept {
    const std::scoped_lock guard(lock);
    bool on_its_way = false;
    for (watched *one = schedulers; one != nullptr; one = one->next_) {
        on_its_way = one->scheduler_.look_for_late_worker() || on_its_way;
    }
    quiet = on_its_way ? 0 : quiet + 1;
    timer_runs = false;
    if (suspended_stacks.load(std::memory_order_relaxed) > 0 && quiet < most_quiet) {
        start();
    }
}

void watch() noexcept {
    if (suspended_stacks.load(std::memory_order_relaxed) == 0 || count.load(std::memory_order_relaxed) < 2) {
        return;
    }
    const std::scoped_lock guard(lock);
    if (!timer_runs) {
        quiet = 0;
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
