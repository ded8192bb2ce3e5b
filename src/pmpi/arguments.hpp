// SPDX-License-Identifier: BSD-3-Clause
// Arguments as callers pass them: statuses that may be ignored, and what MPI is left to refuse.
#pragma once

#include "continuation/interposing.hpp"

#include <mpi.h>

#include <climits>

namespace thence::pmpi {

// The value of a flag or count that MPI did not set: it refused the call. Its return code does not always tell, since
// MPICH 5 returns MPI_SUCCESS once an error handler of the user's has been called.
inline constexpr int untouched = INT_MIN;

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
    thence::continuation::refuse(MPI_ERR_ARG, #call ": " what " is null, and the requests have a continuation "        \
                                                              "request")

// True where MPI's own call is all there is to do: no entry is special, or a pointer is `refused` and MPI sees no
// continuation request.
inline bool mpi_does(int count, const MPI_Request requests[], bool refused) {
    return !continuation::any_special(count, requests) || (refused && !continuation::any_cr(count, requests));
}

} // namespace thence::pmpi
