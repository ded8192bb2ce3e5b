// SPDX-License-Identifier: BSD-3-Clause
// What the interposed calls share: when to leave the fast path, and how to test one request of any kind.
//
// An interposed call must cost a program that uses no continuations next to nothing: one look at the handle, one at
// `attention`. Everything else is in the slow functions. They exist for four reasons:
//  - a handle is a continuation request;
//  - a persistent request has continuations: our poll and the user's call must not complete it both;
//  - this MPI has no progress hook: a blocked call must poll and run continuations itself;
//  - this thread is in a callback: a call that blocks inside MPI could keep the MPI's own waiting thread, which is below
//    us on the stack, from ever returning. Testing in a loop instead does not.
#pragma once

#include "continuation/handle.hpp"
#include "continuation/library.hpp"
#include "continuation/request.hpp"

#include <mpi.h>

namespace thence::pmpi {

// Anything beyond MPI's own work to do in this call? `one` is the only handle it gets.
inline bool plain(MPI_Request one) noexcept {
    return !continuation::is_cr_handle(one) && continuation::attention.load(std::memory_order_relaxed) == 0;
}
bool plain(int count, const MPI_Request requests[]) noexcept;

// Tests one request of any kind once. Returns the MPI error code.
int test_one(MPI_Request *request, int *flag, MPI_Status *status) noexcept;

// True if a blocking call has to be done by testing: something of ours must go on meanwhile, or we are in a callback.
bool must_test() noexcept;

// Between two tests of a loop: lets MPI progress and our continuations run; yields after a while.
class turn {
public:
    void operator()() noexcept;

private:
    unsigned turns_ = 0;
};

inline MPI_Status *slot(MPI_Status statuses[], int i) noexcept {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

} // namespace thence::pmpi
