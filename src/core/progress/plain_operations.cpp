// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/plain_operations.hpp"

#include "core/base/clock.hpp"
#include "core/progress/progress.hpp"

namespace thence::progress {

constinit plain_operations plain;

bool any_plain_operation() noexcept {
    // Read in this order: an operation that ends meanwhile makes the difference too large, never too small. What ends
    // without having been counted, for example a request that another library made, must not hide others.
    const long ended = plain.ended.load(std::memory_order_seq_cst);
    const long started = plain.started.load(std::memory_order_seq_cst);
    if (ended > started) [[unlikely]] {
        plain.ended.fetch_sub(ended - started, std::memory_order_relaxed);
    }
    return started > ended;
}

void program_watch::look() noexcept {
    computed_ = computes();
    blocked_ = plain.blocked.load(std::memory_order_acquire) != 0;
    outstanding_ = any_plain_operation();
    const auto calls = static_cast<unsigned long>(plain.started.load(std::memory_order_relaxed) +
                                                  plain.ended.load(std::memory_order_relaxed)) +
                       plain.left.load(std::memory_order_relaxed);
    const base::nanoseconds now = base::read_clock();
    if (calls != calls_ || blocked_) {
        calls_ = calls;
        called_ = now;
    }
    quiet_ = now - called_;
}

void wake_helper_for_operations() noexcept {
    if (plain.helper_rests.exchange(false, std::memory_order_seq_cst)) {
        helper_wake();
    }
}

const char *count_operations() noexcept {
    if (!require_helper()) {
        return helper_state();
    }
    plain.counted.store(true);
    add_own_communicators(); // calls that start operations leave their fast path
    add_way_to_wait();       // and so do calls that complete them, and those that block
    return nullptr;
}

void stop_counting_operations() noexcept {
    if (plain.counted.exchange(false)) {
        remove_own_communicators();
        remove_way_to_wait();
        plain.ended.store(plain.started.load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
}

} // namespace thence::progress
