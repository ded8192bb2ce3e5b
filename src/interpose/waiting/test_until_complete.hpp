// SPDX-License-Identifier: BSD-3-Clause
// A wait for other ranks, which may never come.
#pragma once

#include "core/base/clock.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/backoff.hpp"

#include <mpi.h>

namespace thence::interpose {

// Tests an operation, and pauses, until it is complete. After each test in vain it calls `waits` with the nanoseconds
// that it has waited, which returns whether to go on. @return whether it is complete.
template <class Waits> bool test_until_complete(MPI_Request &request, Waits &&waits) noexcept {
    const base::nanoseconds begun = base::read_clock();
    int done = 0;
    for (thence_backoff pauses = THENCE_BACKOFF_INIT;
         mpi::table.Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0; progress::pause(pauses)) {
        if (!waits(base::read_clock() - begun)) {
            return false;
        }
    }
    return done != 0;
}

} // namespace thence::interpose
