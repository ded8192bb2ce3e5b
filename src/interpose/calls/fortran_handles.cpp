// SPDX-License-Identifier: BSD-3-Clause
// MPI_Request_c2f and MPI_Request_f2c, where they are functions: a continuation request has a handle in Fortran.
#include "interpose/calls/next.hpp"
#include "interpose/requests/requests.hpp"

#include <thence/thence.h>

#if defined(THENCE_MPI_FORTRAN_REQUESTS) && !defined(PMPI_Request_c2f)

using namespace thence::interpose;

extern "C" {

THENCE_EXPORT MPI_Fint MPI_Request_c2f(MPI_Request request) {
    return is_cr_handle(request) ? to_fortran(request) : THENCE_NEXT(Request_c2f)(request);
}

THENCE_EXPORT MPI_Request MPI_Request_f2c(MPI_Fint request) {
    return is_fortran_handle(request) ? from_fortran(request) : THENCE_NEXT(Request_f2c)(request);
}

} // extern "C"

#endif
