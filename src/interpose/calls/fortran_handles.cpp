// SPDX-License-Identifier: BSD-3-Clause
// MPI_Request_c2f and MPI_Request_f2c, where they are functions: a continuation request has a handle in Fortran.
#include "interpose/calls/next.hpp"
#include "interpose/requests/requests.hpp"

#include <thence/thence.h>

#include <cstdio>

#if defined(THENCE_MPI_FORTRAN_REQUESTS) && !defined(PMPI_Request_c2f)

using namespace thence::interpose;

extern "C" {

THENCE_EXPORT MPI_Fint MPI_Request_c2f(MPI_Request request) {
    return is_cr_handle(request) ? to_fortran(request) : THENCE_NEXT(Request_c2f)(request);
}

THENCE_EXPORT MPI_Request MPI_Request_f2c(MPI_Fint request) {
    return is_fortran_handle(request) ? from_fortran(request) : THENCE_NEXT(Request_f2c)(request);
}

// MPI's own calls in Fortran ask this function, and pass the result to PMPI_ functions, which take no continuation
// request and would crash.
THENCE_EXPORT MPI_Request PMPI_Request_f2c(MPI_Fint request) {
    if (is_fortran_handle(request)) [[unlikely]] {
        constexpr const char *why =
            "MPI's calls in Fortran take no continuation request: call thence_wait, thence_test "
            "or thence_free through C";
        std::fprintf(stderr, "thence: %s\n", why);
        refuse("PMPI_Request_f2c", MPI_ERR_REQUEST, why);
        return MPI_REQUEST_NULL;
    }
    return THENCE_NEXT(Request_f2c)(request);
}

} // extern "C"

#endif
