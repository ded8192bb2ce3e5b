// SPDX-License-Identifier: BSD-3-Clause
// Generalized requests that MPI polls: a generalized request of MPI's own carries each, so every call of MPI takes it,
// and functions of the user complete it, which progress calls.
//
// Invariant: from the moment when MPI knows that the request is complete, no poll or wait function of it runs, and none
// is called. If such a function calls MPI_Grequest_complete, or another thread does so meanwhile, MPI is told after the
// function has returned. So functions of one request never run at the same time: neither poll nor wait function beside
// another, nor beside the query and free functions, which MPI calls after completion. (Without libthence a call of
// MPI_Grequest_complete does not come to us. There the poll function must end with it, and the request is asked
// afterwards whether it is complete.) tests/model/grequest_claims.pml checks this.
#pragma once

#include "core/base/visibility.hpp"
#include "mpix/grequest/polled_list.hpp"

#include <thence/grequest.h>

#include <mpi.h>

#include <atomic>

namespace thence::grequest {

struct functions {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    thence_grequest_poll_function *poll; // null: none
    thence_grequest_wait_function *wait; // null: none
};

struct generalized : polled {
    generalized() noexcept { kind = polled_kind::generalized_request; }

    generalized *next_of_hash; // in the table of handles
    functions of_user;
    void *state;
    MPI_Request request;
    int error;                           // of a poll or wait function, which ended the request; else MPI_SUCCESS
    bool done;                           // MPI was told, or knows already
    std::atomic<bool> completion_wanted; // somebody has called MPI_Grequest_complete while the request was claimed
    generalized *next;                   // in the pool
    MPI_Status status;                   // for the poll and wait functions; the query function finds what they set
};

// How many there are that MPI has not freed.
extern THENCE_INTERNAL std::atomic<long> alive;

inline constexpr int out_of_memory = -1;
// Starts one. `calls_no_mpi`: poll_fn calls at most MPI_Grequest_complete. Returns MPI_SUCCESS, out_of_memory, or what
// MPI_Grequest_start returned. The room is set up.
int start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
          MPI_Grequest_cancel_function *cancel_fn, thence_grequest_poll_function *poll_fn,
          thence_grequest_wait_function *wait_fn, void *state, MPI_Request *request, bool calls_no_mpi) noexcept;

// MPI_Grequest_complete, for any generalized request.
THENCE_INTERNAL int complete(MPI_Request request) noexcept;

// Polls this request, if it is one of ours that is polled, and if its function may run on this thread now; else returns
// false.
THENCE_INTERNAL bool poll_now(MPI_Request request) noexcept;

// True if one of these requests has a wait function.
THENCE_INTERNAL bool any_with_wait_function(int count, const MPI_Request requests[]) noexcept;
// If all requests that are neither null nor in `skip` have the same wait function, calls it for all of them together,
// with a short time-out, and returns true. Else returns false. `skip` may be null.
THENCE_INTERNAL bool wait_together(int count, const MPI_Request requests[], const bool skip[]) noexcept;

// True if some request of ours may have failed that MPI has not freed. Then error_of() is asked, which returns the
// error of the function that ended the request, else MPI_SUCCESS. Of such a request some calls on arrays of MPICH tell
// another error.
extern THENCE_INTERNAL std::atomic<long> failed;
THENCE_INTERNAL int error_of(MPI_Request request) noexcept;

// Called by a pass. True if the request has ended.
bool poll(generalized &request) noexcept;

// How many are not complete. With a wait function alone they are not polled.
long incomplete() noexcept;
void forget_all() noexcept;

} // namespace thence::grequest
