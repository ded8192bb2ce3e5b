// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_DETAIL_POLL_BACKOFF_HPP
#define THENCE_DETAIL_POLL_BACKOFF_HPP
#if __cplusplus < 202002L
#error "thence/detail/poll_backoff.hpp needs C++20: compile with -std=c++20"
#else

// The back-off of a thread that polls: how long it pauses after a poll that found nothing. It first yields its
// processor, then sleeps for up to 64 microseconds, so that threads that compute get the processor. The calls are those
// of POSIX: <chrono> and <thread> take longer to compile than all of the senders.

#include <sched.h>
#include <time.h>

namespace thence::detail {

class poll_backoff {
public:
    /** Counts a poll that found nothing. @return how many microseconds to sleep before the next poll; 0: only yield. */
    int next_us() noexcept {
        if (polls_ < yields + 6)
            ++polls_;
        return polls_ <= yields ? 0 : 1 << (polls_ - yields);
    }
    /** Counts a poll that found nothing, and yields or sleeps. */
    void pause() noexcept {
        if (const int us = next_us(); us > 0) {
            const timespec time{0, us * 1000L};
            ::nanosleep(&time, nullptr);
        } else {
            ::sched_yield();
        }
    }
    /** Call it after a poll that found something. */
    void reset() noexcept { polls_ = 0; }

private:
    static constexpr int yields = 200;
    int polls_ = 0; // in a row that found nothing
};

} // namespace thence::detail

#endif // C++20
#endif
