// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/plain_operations.hpp"

#include "core/base/clock.hpp"
#include "core/progress/progress.hpp"

#include <algorithm>

namespace thence::progress {

constinit plain_operations plain;

namespace {

void observe(unsigned why) noexcept {
    if (plain.observed.fetch_or(why) == 0) {
        add_own_communicators(); // calls that start operations leave their fast path
        add_way_to_wait();       // and so do calls that complete them, and those that block
    }
}

} // namespace

void operations_ended(long count) noexcept {
    note_call();
    long before = plain.outstanding.load(std::memory_order_relaxed);
    while (!plain.outstanding.compare_exchange_weak(before, std::max(before - count, 0L), std::memory_order_seq_cst,
                                                    std::memory_order_relaxed)) {
    }
}

void window_created() noexcept {
    note_call();
    plain.windows.fetch_add(1, std::memory_order_seq_cst);
    if (plain.helper_rests.load(std::memory_order_seq_cst)) {
        wake_helper_for_operations();
    }
}

void window_freed() noexcept {
    long before = plain.windows.load(std::memory_order_relaxed);
    while (before > 0 && !plain.windows.compare_exchange_weak(before, before - 1, std::memory_order_relaxed)) {
    }
}

void program_watch::look() noexcept {
    computed_ = computes();
    blocked_ = plain.blocked.load(std::memory_order_acquire) != 0;
    outstanding_ = any_plain_operation();
    has_windows_ = any_window();
    const unsigned long calls = plain.calls.load(std::memory_order_relaxed);
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
    observe(for_helper);
    return nullptr;
}

void measure_calls() noexcept {
    observe(for_report);
}

void stop_observing_calls() noexcept {
    if (plain.observed.exchange(0) != 0) {
        plain.stopped.store(base::read_clock());
        remove_own_communicators();
        remove_way_to_wait();
        plain.outstanding.store(0);
        plain.windows.store(0);
    }
}

} // namespace thence::progress
