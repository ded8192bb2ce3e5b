// SPDX-License-Identifier: BSD-3-Clause
// The names of the paper: thin wrappers of the checked entry points that thence_attach() uses.
#include <thence/mpix_continue.h>

#include "core/api/checks.hpp"

using namespace thence;

namespace {

constexpr const char *at_once = "THENCE_CR_ENQUEUE_COMPLETE or THENCE_MAY_RUN";
constexpr api::renamed_argument names[] = {{"cr", "cont_req"},
                                           {"requests", "op_request"},
                                           {"callback", "cb"},
                                           {at_once, "mpi_continue_enqueue_complete in the info of cont_req"}};
constexpr api::renamed_argument names_of_all[] = {names[0], {"requests", "op_requests"}, names[2], names[3]};
constexpr api::public_call init_call{"MPIX_Continue_init", names};
constexpr api::public_call one_call{"MPIX_Continue", names};
constexpr api::public_call all_call{"MPIX_Continueall", names_of_all};

continuation::user_callback paper(MPIX_Continue_cb_function *cb, void *cb_data) {
    return {reinterpret_cast<continuation::any_function>(cb), cb_data};
}

// MPIX_Continue() jumps here, so the return address is the user's.
__attribute__((noinline)) int continue_otherwise(MPI_Request *op_request, int *flag, MPIX_Continue_cb_function *cb,
                                                 void *cb_data, MPI_Status *status, MPI_Request cont_req) {
    return api::attach(one_call, 1, op_request, paper(cb, cb_data),
                       {0, continuation::signature::paper, __builtin_return_address(0)}, status, cont_req, flag);
}

} // namespace

extern "C" {

int MPIX_Continue_init(MPI_Request *cont_req, MPI_Info info) {
    return api::create(init_call, 0, -1, info, cont_req);
}

int MPIX_Continue(MPI_Request *op_request, int *flag, MPIX_Continue_cb_function *cb, void *cb_data, MPI_Status *status,
                  MPI_Request cont_req) {
    if (!continuation::can_attach_single(op_request, paper(cb, cb_data), cont_req, flag)) [[unlikely]] {
        return continue_otherwise(op_request, flag, cb, cb_data, status, cont_req);
    }
    return continuation::attach_single(*op_request, paper(cb, cb_data),
                                       {0, continuation::signature::paper, __builtin_return_address(0)}, status,
                                       cont_req, flag);
}

int MPIX_Continueall(int count, MPI_Request op_requests[], int *flag, MPIX_Continue_cb_function *cb, void *cb_data,
                     MPI_Status statuses[], MPI_Request cont_req) {
    return api::attach(all_call, count, op_requests, paper(cb, cb_data),
                       {0, continuation::signature::paper, __builtin_return_address(0)}, statuses, cont_req, flag);
}

} // extern "C"
