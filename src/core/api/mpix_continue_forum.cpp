// SPDX-License-Identifier: BSD-3-Clause
// The names of the MPI Forum's proposal: thin wrappers of the same checked entry points. Flags are translated bit by
// bit.
#include <thence/mpix_continue_forum.h>

#include "core/api/checks.hpp"
#include "core/api/cr_calls.hpp"

using namespace thence;

namespace {

constexpr api::renamed_argument names[] = {
    {"cr", "cont_req"}, {"requests", "request"}, {"callback", "cb"}, {"data", "cb_data"}};
constexpr api::renamed_argument names_of_all[] = {names[0], names[2]};
constexpr api::public_call init_call{"MPIX_Continue_init", names};
constexpr api::public_call one_call{"MPIX_Continue", names};
constexpr api::public_call all_call{"MPIX_Continueall", names_of_all};
constexpr api::public_call get_failed_call{"MPIX_Continue_get_failed", names};

unsigned own_flags(int flags) {
    return ((flags & MPIX_CONT_DEFER_COMPLETE) == 0 ? THENCE_MAY_RUN : 0U) |
           ((flags & MPIX_CONT_INVOKE_FAILED) != 0 ? THENCE_INVOKE_FAILED : 0U);
}

bool known(int flags) {
    return (flags & ~(MPIX_CONT_REQBUF_VOLATILE | MPIX_CONT_REQUESTS_FREE | MPIX_CONT_DEFER_COMPLETE |
                      MPIX_CONT_INVOKE_FAILED)) == 0;
}

// `where`: the code address of the user's call, for reports.
inline int attach(const api::public_call &call, int count, MPI_Request requests[], MPIX_Continue_cb_function *cb,
                  void *cb_data, int flags, MPI_Status *statuses, MPI_Request cont_req, const void *where) {
    if (!known(flags)) {
        return api::fail(call, api::reason::unknown_flags);
    }
    int flag = 0;
    return api::attach(call, count, requests, {reinterpret_cast<continuation::any_function>(cb), cb_data},
                       {own_flags(flags), continuation::signature::forum, where}, statuses, cont_req, &flag);
}

} // namespace

extern "C" {

int MPIX_Continue_init(int flags, int max_poll, MPI_Info info, MPI_Request *cont_req) {
    if ((flags & ~MPIX_CONT_POLL_ONLY) != 0) {
        return api::fail(init_call, api::reason::unknown_cr_flags);
    }
    if (max_poll < 0 && max_poll != MPI_UNDEFINED) {
        return api::fail(init_call, {MPI_ERR_ARG, "max_poll is negative and not MPI_UNDEFINED"});
    }
    // This API has no flag argument that reports completion at once. So DEFER_COMPLETE always holds: ENQUEUE_COMPLETE.
    constexpr unsigned fixed = THENCE_CR_NEEDS_START | THENCE_CR_REPORT_FAILED | THENCE_CR_ENQUEUE_COMPLETE;
    const unsigned asked = (flags & MPIX_CONT_POLL_ONLY) != 0 ? THENCE_CR_POLL_ONLY : 0U;
    return api::create(init_call, asked | fixed, max_poll <= 0 ? -1 : max_poll, info, cont_req, fixed);
}

int MPIX_Continue(MPI_Request *request, MPIX_Continue_cb_function *cb, void *cb_data, int flags, MPI_Status *status,
                  MPI_Request cont_req) {
    return attach(one_call, 1, request, cb, cb_data, flags, status, cont_req, __builtin_return_address(0));
}

int MPIX_Continueall(int count, MPI_Request requests[], MPIX_Continue_cb_function *cb, void *cb_data, int flags,
                     MPI_Status statuses[], MPI_Request cont_req) {
    return attach(all_call, count, requests, cb, cb_data, flags, statuses, cont_req, __builtin_return_address(0));
}

int MPIX_Continue_get_failed(MPI_Request cont_req, int *count, void **cb_data) {
    return api::get_failed(get_failed_call, cont_req, count, cb_data);
}

} // extern "C"
