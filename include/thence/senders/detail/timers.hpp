// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A timer of thence::timeout(). The heap of all timers of the process is in libthence-senders.

#include <time.h>

#include <thence/senders/detail/exports.hpp>

namespace thence::detail {

/** A timer. It must not be moved while it is set, since the heap links it by its address. When its time is over,
 *  begin() is called while the heap is locked, so a later cancel_timer() returns after it. Then run() is called without
 *  the lock; it may destroy the timer. */
class timer {
public:
    timer() = default;
    timer(timer &&) = delete;

protected:
    ~timer() = default;

private:
    friend class timer_heap;
    virtual void begin() noexcept = 0;
    virtual void run() noexcept = 0;

    timer_time when_ = 0;
    timer *child_ = nullptr;  // the first child; children are due later
    timer *next_ = nullptr;   // the next sibling
    timer *before_ = nullptr; // the sibling before it, or its parent; null for the root
    bool set_ = false;
};

inline constexpr timer_time never = INT64_MAX;

inline timer_time read_monotonic_clock() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<timer_time>(time.tv_sec) * 1000000000 + time.tv_nsec;
}

} // namespace thence::detail
