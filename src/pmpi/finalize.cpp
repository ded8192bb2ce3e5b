// SPDX-License-Identifier: BSD-3-Clause
// MPI_Finalize: the library leaves MPI before MPI leaves. Where libthence is not linked, MPI tells when it deletes the
// attributes of MPI_COMM_SELF. For the hook of MPICH that is too late, so it is used only where this file is linked;
// and a call inside a callback can no longer be refused then.
#include "continuation/library.hpp"
#include "interpose/requests.hpp"

#include <thence/thence.h>

namespace {

[[maybe_unused]] const bool said = thence::progress::interposed = true;

} // namespace

extern "C" {

THENCE_EXPORT int MPI_Finalize(void) {
    if (thence::interpose::in_callback()) { // which still needs the library, and MPI below it
        return thence::interpose::refuse(MPI_ERR_OTHER,
                                         "MPI_Finalize was called inside a callback. It is refused and has changed "
                                         "nothing: call it after the callback has returned");
    }
    thence::continuation::finalizing();
    return PMPI_Finalize();
}

} // extern "C"
