// SPDX-License-Identifier: BSD-3-Clause
#include "pools/watchdog.hpp"

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
    if (thread_.joinable())
        thread_.join();
}

void watchdog::start() {
    thread_ = std::thread([this] { run(); });
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
            stopped_.wait_for(guard, std::chrono::milliseconds(pace_.ms()), [this] { return stop_.load(); });
        }
        if (wanted())
            look();
        else if (pace_.nothing_to_look_for())
            sleep();
    }
}

bool watchdog::wanted() const noexcept {
    return first_.operations() > 0 || second_.operations() > 0 || first_.waited_for() || second_.waited_for();
}

void watchdog::look() {
    const bool first = first_.stuck();
    const bool second = second_.stuck();
    const unsigned long signs = first_.signs_of_polls() + second_.signs_of_polls();
    const unsigned long since = signs - std::exchange(signs_before_, signs);
    const bool stuck = first || second || since == 0;
    pace_.looked(since, stuck);
    if (stuck) {
        libthence_senders::run_timers();
        thence_progress();
    }
}

void watchdog::sleep() {
    asleep_.store(true, std::memory_order_seq_cst);
    if (wanted() || stop_.load(std::memory_order_seq_cst))
        asleep_.store(false, std::memory_order_seq_cst);
    else
        asleep_.wait(true, std::memory_order_seq_cst);
}

} // namespace thence::detail
