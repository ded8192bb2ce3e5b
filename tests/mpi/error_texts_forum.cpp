// SPDX-License-Identifier: BSD-3-Clause
// The error texts of the calls of the MPI Forum's proposal have its names of the arguments.
#include "error_texts.hpp"

#include <thence/mpix_continue_forum.h>

namespace {

using error_texts_forum = mpi_test;

int function(int, void *) {
    return MPI_SUCCESS;
}

TEST_F(error_texts_forum, create) {
    MPI_Request made = MPI_REQUEST_NULL;
    const std::string call = "MPIX_Continue_init: ";
    expect(MPI_ERR_ARG, call + "cont_req is null", MPIX_Continue_init(0, 0, MPI_INFO_NULL, nullptr));
    expect(MPI_ERR_ARG, call + "flags has bits that are no option of a continuation request",
           MPIX_Continue_init(MPIX_CONT_DEFER_COMPLETE, 0, MPI_INFO_NULL, &made));
    expect(MPI_ERR_ARG, call + "max_poll is negative and not MPI_UNDEFINED",
           MPIX_Continue_init(0, -1, MPI_INFO_NULL, &made));
}

TEST_F(error_texts_forum, attach_and_get_failed) {
    MPI_Request request = MPI_REQUEST_NULL;
    const auto one = [&](MPI_Request *operation, MPIX_Continue_cb_function *cb, int flags, MPI_Request to) {
        return MPIX_Continue(operation, cb, nullptr, flags, MPI_STATUS_IGNORE, to);
    };
    const std::string no_cr = " is no continuation request, but MPI_REQUEST_NULL or a request of MPI's own";
    expect(MPI_ERR_REQUEST, "MPIX_Continue: cont_req" + no_cr, one(&request, &function, 0, MPI_REQUEST_NULL));
    expect(MPI_ERR_ARG, "MPIX_Continue: request is null", one(nullptr, &function, 0, cr));
    expect(MPI_ERR_ARG, "MPIX_Continue: cb is null", one(&request, nullptr, 0, cr));
    expect(MPI_ERR_ARG, "MPIX_Continue: flags has bits that are no option of a continuation",
           one(&request, &function, MPIX_CONT_POLL_ONLY, cr));
    expect(MPI_ERR_ARG, "MPIX_Continueall: requests is null",
           MPIX_Continueall(1, nullptr, &function, nullptr, 0, MPI_STATUSES_IGNORE, cr));
    int count = 1;
    void *data = nullptr;
    expect(MPI_ERR_REQUEST, "MPIX_Continue_get_failed: cont_req" + no_cr,
           MPIX_Continue_get_failed(MPI_REQUEST_NULL, &count, &data));
    expect(MPI_ERR_ARG, "MPIX_Continue_get_failed: cb_data is null although the capacity in count is not 0",
           MPIX_Continue_get_failed(cr, &count, nullptr));
}

} // namespace
