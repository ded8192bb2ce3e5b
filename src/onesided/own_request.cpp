// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/own_request.hpp"

#include "onesided/source.hpp"

namespace thence::onesided {

namespace {

// Some MPIs return what this function returns, others what is in the status.
int query(void *state, MPI_Status *status) {
    const int error = static_cast<own_request *>(state)->error;
    if (status != MPI_STATUS_IGNORE) {
        status->MPI_SOURCE = MPI_ANY_SOURCE;
        status->MPI_TAG = MPI_ANY_TAG;
        mpi::table.Status_set_elements(status, MPI_BYTE, 0);
        mpi::table.Status_set_cancelled(status, 0);
        if (error != MPI_SUCCESS) {
            status->MPI_ERROR = error;
        }
    }
    return error;
}
int release(void *state) {
    delete static_cast<own_request *>(state);
    return MPI_SUCCESS;
}
int cancel(void *, int) {
    return MPI_SUCCESS; // it cannot be
}

void complete_arrived(notification::waiter &all_here) noexcept {
    no_longer_waits();
    static_cast<own_request &>(all_here).complete();
}

} // namespace

own_request::own_request() noexcept {
    arrived = &complete_arrived;
}

int own_request::start() noexcept {
    return mpi::table.Grequest_start(&query, &release, &cancel, this, &request);
}

} // namespace thence::onesided
