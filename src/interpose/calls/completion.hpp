// SPDX-License-Identifier: BSD-3-Clause
// What the completion calls on one request and on arrays share.
#pragma once

#include "core/api/cr_calls.hpp"
#include "interpose/requests/counted.hpp"
#include "interpose/requests/grequests.hpp"
#include "interpose/requests/requests.hpp"
#include "interpose/waiting/wait_strategy.hpp"

#include <mpi.h>

#include <algorithm>
#include <vector>

namespace thence::pmpi {

inline void set_error(MPI_Status *status, int code) {
    if (status != MPI_STATUS_IGNORE) {
        status->MPI_ERROR = code;
    }
}

// For reports.
inline interpose::described_call waiting_for(int count, const char *call, const void *where) {
    return {.name = call, .where = where, .what = interpose::described_call::about::requests, .number = count};
}

// The names that MPI gives to the continuation request in its calls on one request, and on several.
inline constexpr api::renamed_argument one_request[] = {{"cr", "request"}};
inline constexpr api::renamed_argument several_requests[] = {{"cr", "array_of_requests"}};

// Tests entry `i` of a call on several requests. `call`: its name.
inline int test_entry(const char *call, MPI_Request requests[], int i, int *flag, MPI_Status *status) {
    return interpose::is_cr_handle(requests[i]) ? api::test({call, several_requests, i}, &requests[i], flag, status)
                                                : interpose::test(&requests[i], flag, status, &PMPI_Test);
}

// True if MPI itself waits: no other way applies, and none of the requests is ours.
inline bool mpi_waits(const interpose::wait_strategy *how, int count, const MPI_Request requests[]) {
    return how == nullptr && !interpose::any_special(count, requests) &&
           !interpose::any_with_wait_function(count, requests);
}

// Called between two tests of a blocking call. If the first test finds all complete, the destructor calls catch_up():
// without a hook, a program whose calls never block would otherwise run no callbacks.
class turn {
public:
    // `call`: the name of the blocking call, `where`: the address to which it returns.
    turn(const interpose::wait_strategy *how, const char *call, const void *where)
        : how_(how != nullptr ? *how : interpose::testing), call_(call, where) {}
    ~turn() {
        if (call_.turns == 0) {
            interpose::catch_up();
        }
    }
    turn &operator=(turn &&) = delete;
    void operator()() { how_.pause(call_); }
    // The same, and if the call still waits for nothing but generalized requests with one wait function, it calls that
    // first. `done`: entries that are complete although they are not null; may be null.
    void operator()(int count, const MPI_Request requests[], const bool done[] = nullptr) {
        interpose::call_wait_function(count, requests, done);
        how_.pause(call_);
    }

private:
    const interpose::wait_strategy &how_; // never null, since MPI itself cannot wait for these requests
    interpose::polling_call call_;
};

// The same after a call that only tests. But a test of a continuation request has already run callbacks, and its
// max_poll bounds their number.
inline void catch_up_after(int count, const MPI_Request requests[]) {
    if (!interpose::any_cr(count, requests)) {
        interpose::catch_up();
    }
}

// Statuses for a call that may find nothing, and then must leave the caller's as they are. MPI need not set all of a
// status, so they begin as copies of the caller's.
class tentative_statuses {
public:
    tentative_statuses(int count, MPI_Status statuses[])
        : to_(statuses), copies_(statuses, statuses + (statuses != MPI_STATUSES_IGNORE ? count : 0)) {}
    MPI_Status *data() { return to_ != MPI_STATUSES_IGNORE ? copies_.data() : MPI_STATUSES_IGNORE; }
    void keep() { std::copy(copies_.begin(), copies_.end(), to_); }

private:
    MPI_Status *to_;
    std::vector<MPI_Status> copies_;
};

// A copy of the array in which special entries are null. Calls on arrays give it to MPI's own function, which decides
// about inactive requests and errors. If MPI refuses an entry, the call ends there and has changed nothing. Else the
// special entries follow, one by one.
inline std::vector<MPI_Request> without_special(int count, const MPI_Request requests[]) {
    std::vector<MPI_Request> own(requests, requests + count);
    interpose::hide_special(count, own.data());
    return own;
}

} // namespace thence::pmpi
