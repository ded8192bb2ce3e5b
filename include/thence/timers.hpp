// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file timers.hpp
 *  @brief thence::run_timers(), which runs the timers of thence::timeout().
 *
 *  Thence has no thread for timers. Threads that make progress run them, since a timer may cancel an operation, and a
 *  thread that calls MPI anyway does that best (see thence_cancel()). thence::sync_wait(), thence::progress_loop and
 *  pools call thence::run_timers(). A loop of your own that calls thence_progress() must call it too. */

#include <thence/senders/detail/timers.hpp>

namespace thence {

/** @brief Requests stop, on this thread, of each sender with a thence::timeout() whose time is over.
 *  @return whether there was any.
 *  @note Threads: any that may call MPI, any number at once. Cost: a call and a load if no timer is set, else one read
 *        of the clock. Call it in turn with thence_progress(). */
inline bool run_timers() noexcept {
    return libthence_senders::run_timers();
}

} // namespace thence
