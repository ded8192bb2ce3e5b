// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_DETAIL_PAUSE_HPP
#define THENCE_DETAIL_PAUSE_HPP
#if __cplusplus < 202002L
#error "thence/detail/pause.hpp needs C++20: compile with -std=c++20"
#else

// How long to pause between polls that found nothing: first only yields, then sleeps of up to 64 microseconds, so that
// a waiting thread leaves the core to those that compute. POSIX's calls: <chrono> and <thread> take longer to compile
// than all of the senders.

#include <sched.h>
#include <time.h>

namespace thence::detail {

class pauses {
public:
    /** @return how many microseconds to sleep before the next poll; zero: only yield. */
    int next_us() noexcept {
        if (polls_ < yields + 6)
            ++polls_;
        return polls_ <= yields ? 0 : 1 << (polls_ - yields);
    }
    void pause() noexcept {
        if (const int us = next_us(); us > 0) {
            const timespec time{0, us * 1000L};
            ::nanosleep(&time, nullptr);
        } else {
            ::sched_yield();
        }
    }
    void reset() noexcept { polls_ = 0; }

private:
    static constexpr int yields = 200;
    int polls_ = 0;
};

} // namespace thence::detail

#endif // C++20
#endif
