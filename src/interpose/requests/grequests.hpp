// SPDX-License-Identifier: BSD-3-Clause
// What interposed calls do for generalized requests with poll and wait functions.
#pragma once

#include "core/base/visibility.hpp"
#include "core/progress/interposed.hpp"
#include "core/progress/reaches_libthence.hpp"
#include "mpix/grequest/request.hpp"

#include <mpi.h>

namespace thence::interpose {

// True if there may be generalized requests of ours, so that MPI_Grequest_complete must come to us.
inline bool any_grequests() noexcept {
    progress::note_if_probing();
    return grequest::alive.load(std::memory_order_relaxed) != 0;
}
inline int complete_grequest(MPI_Request request) noexcept {
    return grequest::complete(request);
}

// True if MPI_Test and MPI_Wait must poll their request first: others may be outstanding in large numbers, and each has
// its turn, but this one is asked for.
inline bool any_polled_grequests() noexcept {
    return (progress::slow_path_reasons.load(std::memory_order_relaxed) & progress::polled_grequests) != 0;
}
inline bool poll_now(MPI_Request request) noexcept {
    return grequest::poll_now(request);
}
// True if that is the only reason for the slow path.
inline bool only_polled_grequests() noexcept {
    return progress::slow_path_reasons.load(std::memory_order_relaxed) == progress::polled_grequests;
}

// True if a call that blocks on these requests must call a wait function.
inline bool any_with_wait_function(int count, const MPI_Request requests[]) noexcept {
    return (progress::slow_path_reasons.load(std::memory_order_relaxed) & progress::waited_grequests) != 0 &&
           grequest::any_with_wait_function(count, requests);
}
// Between two tests of such a call. Returns true if it has called a wait function. See grequest::wait_together().
inline bool call_wait_function(int count, const MPI_Request requests[], const bool skip[]) noexcept {
    return (progress::slow_path_reasons.load(std::memory_order_relaxed) & progress::waited_grequests) != 0 &&
           grequest::wait_together(count, requests, skip);
}

// Called before a test. Where no hook of MPI calls poll functions, it does: a test of a request whose work has ended
// then finds it complete, as it does in MPICH.
THENCE_INTERNAL void poll_first() noexcept;

} // namespace thence::interpose
