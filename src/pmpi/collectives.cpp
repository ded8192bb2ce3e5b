// SPDX-License-Identifier: BSD-3-Clause
// Blocking collectives, assisted inside callbacks.
#include "pmpi/assisted.hpp"
#include "pmpi/collective_table.hpp"

extern "C" {

#define WITH_COUNTS(name, parameters, arguments) THENCE_ASSISTED(name##_c, parameters, arguments)

THENCE_ASSISTED(Barrier, (MPI_Comm comm), (comm))
THENCE_COLLECTIVES(THENCE_ASSISTED, int, int)
#if defined(THENCE_MPI_LARGE_COUNTS)
THENCE_COLLECTIVES(WITH_COUNTS, MPI_Count, MPI_Aint)
#endif

} // extern "C"
