// SPDX-License-Identifier: BSD-3-Clause
// MPI_Start, MPI_Request_free and MPI_Cancel.
#include "continuation/interposing.hpp"

#include <thence/thence.h>

using namespace thence::continuation;

extern "C" {

THENCE_EXPORT int MPI_Start(MPI_Request *request) {
    if (is_cr_handle(*request)) {
        return thence_start(request);
    }
    const MPI_Request before = *request; // some MPIs give a restarted request a new handle
    const int code = PMPI_Start(request);
    restarted(before, *request);
    return code;
}

THENCE_EXPORT int MPI_Startall(int count, MPI_Request requests[]) {
    for (int i = 0; i < count; ++i) {
        if (const int code = MPI_Start(&requests[i]); code != MPI_SUCCESS) {
            return code;
        }
    }
    return MPI_SUCCESS;
}

THENCE_EXPORT int MPI_Request_free(MPI_Request *request) {
    return is_cr_handle(*request) ? thence_free(request) : free_request(request);
}

THENCE_EXPORT int MPI_Cancel(MPI_Request *request) {
    return is_cr_handle(*request) ? thence_cancel(request) : cancel_request(request);
}

} // extern "C"
