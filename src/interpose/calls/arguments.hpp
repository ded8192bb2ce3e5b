// SPDX-License-Identifier: BSD-3-Clause
// Checks of caller arguments: statuses that may be ignored, and arguments that MPI itself must refuse.
#pragma once

#include "interpose/requests/requests.hpp"

#include <mpi.h>

namespace thence::pmpi {

using interpose::untouched;

// The status of one entry of an array, or MPI_STATUS_IGNORE if the caller ignores statuses.
inline MPI_Status *slot(MPI_Status statuses[], int i) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

// True for a null pointer on an MPI whose MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE are not null.
inline bool refused_status(const MPI_Status *status) {
    return status == nullptr && MPI_STATUS_IGNORE != nullptr;
}

// True if only MPI's own function has to be called: no entry is special, or MPI refuses a pointer (`refused`) and no
// entry is a continuation request.
inline bool mpi_does(int count, const MPI_Request requests[], bool refused) {
    return !interpose::any_special(count, requests) || (refused && !interpose::any_cr(count, requests));
}

} // namespace thence::pmpi
