// SPDX-License-Identifier: BSD-3-Clause
// Time that a test plays: sleeps and yields of its thread take no time of the machine, and the monotonic clock shows
// what they would have taken. The source is for one test program only: it stands in place of functions of the system.
#pragma once

#include "core/base/clock.hpp"

#include <functional>

namespace thence::fake {

// One at a time. It plays for the thread that creates it, while it lives.
class played_time {
public:
    static constexpr base::nanoseconds of_a_look = 50; // at the clock

    played_time();
    ~played_time();
    played_time &operator=(played_time &&) = delete;

    // Once: in the first yield or sleep that ends so long after now.
    void after(base::nanoseconds time, std::function<void()> what);

    base::nanoseconds now() const noexcept { return now_; }
    base::nanoseconds of_a_yield = 1'000;
    base::nanoseconds sleeps_longer = 5'000; // than it is asked to

    unsigned yields = 0;
    unsigned sleeps = 0;
    base::nanoseconds longest_sleep = 0;

    // For the functions that stand in place of the system's.
    void look() noexcept { now_ += of_a_look; }
    void yield();
    void sleep(base::nanoseconds time);

private:
    void pass(base::nanoseconds time);

    base::nanoseconds now_;
    base::nanoseconds due_ = 0;
    std::function<void()> what_;
};

} // namespace thence::fake
