// SPDX-License-Identifier: BSD-3-Clause
// MPI_Request_toint and MPI_Request_fromint (MPI 5, section 20.3.4), the handles of the standard ABI as integers: a
// continuation request has one, the same as in Fortran.
#include "interpose/calls/next.hpp"
#include "interpose/requests/requests.hpp"

#include <thence/thence.h>

#if defined(THENCE_MPI_INTEGER_REQUESTS)

using namespace thence::interpose;

extern "C" {

THENCE_EXPORT int MPI_Request_toint(MPI_Request request) {
    return is_cr_handle(request) ? to_fortran(request) : THENCE_NEXT(Request_toint)(request);
}

THENCE_EXPORT MPI_Request MPI_Request_fromint(int request) {
    return is_fortran_handle(request) ? from_fortran(request) : THENCE_NEXT(Request_fromint)(request);
}

} // extern "C"

#endif
