// SPDX-License-Identifier: BSD-3-Clause
// Where one call of MPI's progress handles about one message, the helper thread, interposed waits, blocked tasks and
// waits of endpoints call it again after a sleep, until all that has arrived is handled. Else each message would wait
// for another sleep.
#pragma once

#include "core/mpi/calls.hpp"
#include "core/progress/backoff.hpp"

namespace thence::progress {

void make_progress_until_idle() noexcept;

// After a sleep, on a thread that may let MPI make progress. MPICH 4.3 and later handle one message a call; they have
// MPIX_Stream_progress. Other MPIs handle all that has arrived in one call.
inline void catch_up_after_sleep() noexcept {
    if (mpi::table.stream_progress != nullptr) {
        make_progress_until_idle();
    }
}

// The pause of a loop that lets MPI make progress itself.
inline void pause_and_catch_up(thence_backoff &backoff) noexcept {
    if (pause(backoff)) {
        catch_up_after_sleep();
    }
}

} // namespace thence::progress
