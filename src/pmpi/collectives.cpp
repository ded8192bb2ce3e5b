// SPDX-License-Identifier: BSD-3-Clause
// Blocking collectives, see blocking_in_mpi.hpp.
#include "pmpi/blocking_in_mpi.hpp"
#include "pmpi/collective_table.hpp"

extern "C" {

#define WITH_COUNTS(name, parameters, arguments) THENCE_BLOCKING(name##_c, parameters, arguments)

THENCE_BLOCKING(Barrier, (MPI_Comm comm), (comm))
THENCE_COLLECTIVES(THENCE_BLOCKING, int, int)
#if defined(THENCE_MPI_LARGE_COUNTS)
THENCE_COLLECTIVES(WITH_COUNTS, MPI_Count, MPI_Aint)
#endif

} // extern "C"
