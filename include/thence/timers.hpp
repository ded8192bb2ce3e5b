// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_TIMERS_HPP
#define THENCE_TIMERS_HPP
#if __cplusplus < 202002L
#error "thence/timers.hpp needs C++20: compile with -std=c++20"
#else

/** @file timers.hpp
 *  @brief Who looks at the clock for thence::timeout(): whoever makes progress, by calling thence::run_timers().
 *
 *  Thence has no thread for timers: what a deadline cancels is best cancelled by a thread that is inside MPI anyway
 *  (see thence_cancel()). thence::sync_wait(), thence::progress_loop and pools call thence::run_timers(). A loop of
 *  your own that calls thence_progress() calls it too. */

#include <thence/senders/detail/timers.hpp>

namespace thence {

/** @brief Asks everything to stop that has a thence::timeout() whose time is over, on this thread.
 *  @return whether there was any.
 *  @note Threads: any that may call MPI, any number at once. Cost: a call and a load where no timer is set, else one
 *        look at the clock. Call it in turn with thence_progress(). */
inline bool run_timers() noexcept {
    return libthence_senders::run_timers();
}

} // namespace thence

#endif // C++20
#endif
