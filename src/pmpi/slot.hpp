// SPDX-License-Identifier: BSD-3-Clause
// The status of one entry of an array, where the caller wants any.
#pragma once

#include <mpi.h>

namespace thence::pmpi {

inline MPI_Status *slot(MPI_Status statuses[], int i) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

} // namespace thence::pmpi
