// SPDX-License-Identifier: BSD-3-Clause
// MPI_Finalize: the library leaves MPI before MPI leaves. Where libthence is not linked, MPI tells when it deletes the
// attributes of MPI_COMM_SELF, which for the hook of MPICH is too late: it is used only where this file is linked.
#include "continuation/interposing.hpp"

#include <thence/thence.h>

namespace {

[[maybe_unused]] const bool said = thence::continuation::is_interposed = true;

} // namespace

extern "C" {

THENCE_EXPORT int MPI_Finalize(void) {
    thence::continuation::finalizing();
    return PMPI_Finalize();
}

} // extern "C"
