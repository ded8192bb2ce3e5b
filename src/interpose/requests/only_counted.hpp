// SPDX-License-Identifier: BSD-3-Clause
// Calls while nothing is to be done in them but to count for the helper thread (progress::calls_only_count()): no
// request and no communicator is ours, and each call that blocks does so inside MPI. So each is a few instructions and
// MPI's own function.
#pragma once

#include "core/progress/plain_operations.hpp"
#include "interpose/requests/persistent_states.hpp"

#include <mpi.h>

#include <algorithm>

namespace thence::interpose {

using progress::calls_only_count;

// Out of line, so that a call keeps nothing in registers for it. @return `code`.
THENCE_INTERNAL int wake_helper_and_return(int code) noexcept;

// Whether nothing is to be done but to count in a call on these requests.
inline bool only_counted(int count, const MPI_Request requests[]) {
    return calls_only_count() && count > 0 && requests != nullptr;
}

// A call that starts `*request`. One that MPI refuses has started none: then MPI_SUCCESS is returned all the same, as
// MPICH 5 does after an error handler of the user, or `request` is null.
template <class Call> int count_started(MPI_Request *request, Call call) {
    if (request != nullptr) [[likely]] {
        *request = MPI_REQUEST_NULL;
    }
    const int code = call();
    if (code != MPI_SUCCESS || request == nullptr || *request == MPI_REQUEST_NULL || !progress::count_operation())
        [[likely]] {
        return code;
    }
    return wake_helper_and_return(code);
}

template <class Call> int count_blocking(Call call) {
    const progress::blocking_call blocks(progress::own_call_counts());
    return call();
}

inline long active_ones(int count, const MPI_Request requests[]) {
    return std::count_if(requests, requests + count, [](MPI_Request each) { return each != MPI_REQUEST_NULL; });
}

// Which requests a call has completed: all if `flag` is null, or not 0; or, if there are indices, those that the first
// `*found` of them name, or the first one if `found` is null. If MPI refuses the call, these may be any numbers.
struct completed_requests {
    const int *flag = nullptr;
    const int *found = nullptr;
    const int *indices = nullptr;
};

// After a call: how many persistent requests it has completed. Others have become null. `succeeded`: the outputs of the
// call can be believed. Else, or if that is not known, each request is asked: of a call that fails some may be pending.
THENCE_INTERNAL long end_persistent(int count, const MPI_Request requests[], const completed_requests &completed,
                                    bool succeeded) noexcept;

// A call that tests, or waits, for these requests. Those that it sets to null have ended.
template <class Call>
int count_completed(int count, const MPI_Request requests[], const completed_requests &completed, Call call) {
    const long before = active_ones(count, requests);
    const int code = call();
    long ended = before - active_ones(count, requests);
    if (persistent_states::any() && before != 0) [[unlikely]] {
        ended += end_persistent(count, requests, completed, code == MPI_SUCCESS);
    }
    if (ended > 0) {
        progress::operations_ended(ended);
    }
    return code;
}
template <class Call>
int count_test(int count, const MPI_Request requests[], const completed_requests &completed, Call call) {
    progress::note_call();
    return count_completed(count, requests, completed, call);
}
template <class Call>
int count_wait(int count, const MPI_Request requests[], const completed_requests &completed, Call call) {
    return count_completed(count, requests, completed, [&] { return count_blocking(call); });
}

// A persistent request was started.
inline void count_persistent_start(MPI_Request started) noexcept {
    persistent_states::state *const found = persistent_states::find_or_enter(started);
    if (found == nullptr || found->load(std::memory_order_relaxed) != persistent_state::active) {
        if (found != nullptr) {
            found->store(persistent_state::active, std::memory_order_relaxed);
        }
        progress::operation_started();
    }
}

} // namespace thence::interpose
