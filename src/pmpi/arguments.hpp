// SPDX-License-Identifier: BSD-3-Clause
// Arguments as callers pass them: statuses that may be ignored, and what MPI is left to refuse.
#pragma once

#include "interpose/requests.hpp"

#include <mpi.h>

namespace thence::pmpi {

using interpose::untouched;

// The status of one entry of an array, where the caller wants any.
inline MPI_Status *slot(MPI_Status statuses[], int i) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

// A null pointer where MPI wants MPI_STATUS_IGNORE or MPI_STATUSES_IGNORE, which are null on some MPIs only.
inline bool refused_status(const MPI_Status *status) {
    return status == nullptr && MPI_STATUS_IGNORE != nullptr;
}

// The end of a call with a null pointer where continuation requests are among the requests.
#define THENCE_REFUSE_NULL(call, what)                                                                                 \
    thence::interpose::refuse(MPI_ERR_ARG, #call ": " what " is null, and the requests have a continuation "           \
                                                 "request")

// True where MPI's own call is all there is to do: no entry is special, or a pointer is `refused` and MPI sees no
// continuation request.
inline bool mpi_does(int count, const MPI_Request requests[], bool refused) {
    return !interpose::any_special(count, requests) || (refused && !interpose::any_cr(count, requests));
}

} // namespace thence::pmpi
