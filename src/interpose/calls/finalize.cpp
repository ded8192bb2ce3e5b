// SPDX-License-Identifier: BSD-3-Clause
// MPI_Finalize: the library is torn down before MPI ends. If libthence is not linked, MPI calls the library when it
// deletes the attributes of MPI_COMM_SELF. That is too late for the hook of MPICH, so that hook is used only if this
// file is linked. It is also too late to refuse a call of MPI_Finalize inside a callback.
#include "interpose/requests/requests.hpp"
#include "interpose/waiting/library.hpp"

#include <thence/thence.h>

namespace {

[[maybe_unused]] const bool interposed = thence::interpose::say_interposed();

} // namespace

extern "C" {

THENCE_EXPORT int MPI_Finalize(void) {
    if (thence::interpose::in_callback()) { // the callback still needs the library and MPI
        return thence::interpose::refuse("MPI_Finalize", MPI_ERR_OTHER,
                                         "called inside a callback. It is refused and has changed nothing: call it "
                                         "after the callback has returned");
    }
    thence::interpose::finalizing();
    return PMPI_Finalize();
}

} // extern "C"
