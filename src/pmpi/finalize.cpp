// SPDX-License-Identifier: BSD-3-Clause
// MPI_Finalize: the library leaves MPI before MPI leaves. Where libthence is not linked, MPI tells when it deletes the
// attributes of MPI_COMM_SELF; but MPICH first waits for what MPIX_Async_start started, which is our hook while
// anything is outstanding, and would wait for ever.
#include "continuation/interposing.hpp"

#include <thence/thence.h>

extern "C" {

THENCE_EXPORT int MPI_Finalize(void) {
    thence::continuation::finalizing();
    return PMPI_Finalize();
}

} // extern "C"
