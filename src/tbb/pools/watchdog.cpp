// SPDX-License-Identifier: BSD-3-Clause
#include "tbb/pools/watchdog.hpp"

#include <thence/detail/start_thread.hpp>

#include <chrono>
#include <utility>

namespace thence::detail {

watchdog::~watchdog() {
    {
        const std::scoped_lock guard(stopping_);
        stop_.store(true, std::memory_order_seq_cst);
    }
    stopped_.notify_one();
    began();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void watchdog::start() {
    thread_ = start_thread([this] { run(); });
}

void watchdog::began() noexcept {
    if (asleep_.load(std::memory_order_seq_cst)) {
        asleep_.store(false, std::memory_order_seq_cst);
        asleep_.notify_one();
    }
}

void watchdog::run() {
    while (!stop_.load(std::memory_order_seq_cst)) {
        {
            std::unique_lock guard(stopping_);
            stopped_.wait_for(guard, std::chrono::milliseconds(interval_.ms()), [this] { return stop_.load(); });
        }
        if (wanted()) {
            check();
        } else if (interval_.nothing_outstanding()) {
            sleep();
        }
    }
}

bool watchdog::wanted() const noexcept {
    return first_.operations() > 0 || second_.operations() > 0 || first_.waited_for() || second_.waited_for();
}

void watchdog::check() {
    const bool first = first_.check_stalled();
    const bool second = second_.check_stalled();
    const unsigned long total = first_.poll_activity() + second_.poll_activity();
    const unsigned long activity = total - std::exchange(activity_before_, total);
    const bool stalled = first || second || activity == 0;
    interval_.checked(activity, stalled);
    if (stalled) {
        libthence_senders::run_timers();
        thence_progress();
    }
}

void watchdog::sleep() {
    asleep_.store(true, std::memory_order_seq_cst);
    if (wanted() || stop_.load(std::memory_order_seq_cst)) {
        asleep_.store(false, std::memory_order_seq_cst);
    } else {
        asleep_.wait(true, std::memory_order_seq_cst);
    }
}

} // namespace thence::detail
