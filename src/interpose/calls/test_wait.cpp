// SPDX-License-Identifier: BSD-3-Clause
// MPI_Test and MPI_Wait.
#include "interpose/calls/arguments.hpp"
#include "interpose/calls/completion.hpp"
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_stream.hpp"
#include "interpose/requests/only_counted.hpp"
#include "interpose/requests/requests.hpp"
#include "interpose/waiting/wait_strategy.hpp"

#include <thence/thence.h>

using namespace thence::interpose;
using namespace thence::pmpi;

namespace {

int test_one(const char *call, MPI_Request *request, int *flag, MPI_Status *status, decltype(&PMPI_Test) by_mpi) {
    return is_cr_handle(*request) ? thence::api::test({call, one_request}, request, flag, status)
                                  : test(request, flag, status, by_mpi);
}

// Not inlined, so that the fast path saves no registers for them.
__attribute__((noinline)) int counted_test(MPI_Request *request, int *flag, MPI_Status *status) {
    return count_test(1, request, {.flag = flag}, [&] { return THENCE_NEXT(Test)(request, flag, status); });
}

__attribute__((noinline)) int counted_wait(MPI_Request *request, MPI_Status *status) {
    return count_wait(1, request, {}, [&] { return THENCE_NEXT(Wait)(request, status); });
}

__attribute__((noinline)) int slow_test(MPI_Request *request, int *flag, MPI_Status *status) {
    if (request == nullptr || (!is_cr_handle(*request) && (flag == nullptr || refused_status(status)))) {
        return THENCE_NEXT(Test)(request, flag, status);
    }
    const thence::streams::serial_call on_stream("MPI_Test", 1, request);
    if (refused_status(status)) {
        return refuse_null("MPI_Test", {{"status", true}});
    }
    const counted_completion completes("MPI_Test", 1, request, {.flag = flag});
    if (!any_polled_grequests() || is_cr_handle(*request) || !poll_now(*request)) {
        poll_first();
    }
    const int code = test_one("MPI_Test", request, flag, status, THENCE_NEXT(Test));
    catch_up_after(1, request); // a CR keeps its handle
    return code;
}

int wait_by_testing(const wait_strategy *how, MPI_Request *request, MPI_Status *status, const void *where) {
    turn next(how, "MPI_Wait", where);
    for (;;) {
        int flag = untouched;
        const int code = test_one("MPI_Wait", request, &flag, status, &PMPI_Test);
        if (flag != 0 || code != MPI_SUCCESS) {
            return code;
        }
        next(1, request);
    }
}

__attribute__((noinline)) int slow_wait(MPI_Request *request, MPI_Status *status) {
    if (request == nullptr || refused_status(status)) {
        return request == nullptr || !is_cr_handle(*request) ? THENCE_NEXT(Wait)(request, status)
                                                             : refuse_null("MPI_Wait", {{"status", true}});
    }
    const thence::streams::serial_call on_stream("MPI_Wait", 1, request);
    const counted_completion completes("MPI_Wait", 1, request, {});
    const thence::interpose::blocking_call blocks(waiting_for(1, "MPI_Wait", __builtin_return_address(0)));
    if (any_polled_grequests() && !is_cr_handle(*request)) {
        poll_now(*request);
    }
    const wait_strategy *how = strategy("MPI_Wait");
    const void *where = __builtin_return_address(0); // MPI_Wait jumps here
    if (is_cr_handle(*request)) {
        return how == nullptr || how->thence_wait_does ? thence::api::mpi_wait(request, status)
                                                       : wait_by_testing(how, request, status, where);
    }
    if (!is_special(*request) && !any_with_wait_function(1, request)) {
        return how == nullptr ? THENCE_NEXT(Wait)(request, status) : how->complete(request, status, where);
    }
    return wait_by_testing(how, request, status, where);
}

__attribute__((noinline)) int wait_after_poll(MPI_Request *request, MPI_Status *status) {
    poll_now(*request);
    return THENCE_NEXT(Wait)(request, status);
}

} // namespace

extern "C" {

THENCE_EXPORT int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    if (is_plain(request)) [[likely]] {
        return THENCE_NEXT(Test)(request, flag, status);
    }
    if (only_counted(1, request)) {
        return counted_test(request, flag, status);
    }
    if (is_plain_beside_persistent(request)) {
        return THENCE_NEXT(Test)(request, flag, status);
    }
    return slow_test(request, flag, status);
}

THENCE_EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    if (is_plain(request)) [[likely]] {
        return THENCE_NEXT(Wait)(request, status);
    }
    if (only_counted(1, request)) {
        return counted_wait(request, status);
    }
    if (request != nullptr && !is_cr_handle(*request) && only_polled_grequests()) {
        return wait_after_poll(request, status);
    }
    if (request != nullptr && is_cr_handle(*request) && !any_strategy_added() && !refused_status(status)) {
        return thence::api::mpi_wait(request, status); // as slow_wait() does, which would ask for a strategy first
    }
    return slow_wait(request, status);
}

} // extern "C"
