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
    int code = MPI_SUCCESS;
    for (thence_backoff pauses = THENCE_BACKOFF_INIT; !mpi::has_ended(request, code); progress::pause(pauses)) {
        if (!waits(base::read_clock() - begun)) {
            return false;
        }
    }
    return code == MPI_SUCCESS;
}

} // namespace thence::interpose
