// SPDX-License-Identifier: BSD-3-Clause
// The time of what all ranks do together.
#pragma once

#include <mpi.h>

namespace measure {

// Calls `run` on all ranks, and returns the seconds that the slowest one took.
template <class Run> double seconds_of_slowest(MPI_Comm all, Run &&run) {
    MPI_Barrier(all);
    const double start = MPI_Wtime();
    run();
    double took = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, all);
    return took;
}

} // namespace measure
