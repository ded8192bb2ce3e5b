// SPDX-License-Identifier: BSD-3-Clause
// MPI_Request_c2f and MPI_Request_f2c, where they are functions: a continuation request has a handle in Fortran.
#include "interpose/calls/fortran_calls.hpp"
#include "interpose/calls/next.hpp"
#include "interpose/requests/requests.hpp"

#include <thence/thence.h>

#include <cstdio>
#include <cstring>

#if defined(THENCE_MPI_FORTRAN_REQUESTS) && !defined(PMPI_Request_c2f)

using namespace thence::interpose;

namespace {

// True if the object of this request has its handle in Fortran where that of a continuation request has it.
bool has_handle_there(MPI_Request request) noexcept {
    const MPI_Fint handle = THENCE_NEXT(Request_c2f)(request); // a request may get its handle only now
    char *object = nullptr;
    static_assert(sizeof object == sizeof request);
    std::memcpy(&object, &request, sizeof request);
    MPI_Fint there = 0;
    std::memcpy(&there, object + fortran_handle_offset, sizeof there);
    return there == handle;
}

// True if MPI's library for Fortran can be given a continuation request: its calls come to us, and afterwards it reads
// the handle in Fortran from where it is.
bool fortran_takes_crs() noexcept {
    static const bool proven = [] {
        MPI_Request other = MPI_REQUEST_NULL;
        PMPI_Recv_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &other);
        const bool both = has_handle_there(MPI_REQUEST_NULL) && has_handle_there(other) && other != MPI_REQUEST_NULL;
        PMPI_Request_free(&other);
        return both;
    }();
    return thence::pmpi::redirect_fortran_calls() && proven;
}

} // namespace

extern "C" {

THENCE_EXPORT MPI_Fint MPI_Request_c2f(MPI_Request request) {
    return is_cr_handle(request) ? to_fortran(request) : THENCE_NEXT(Request_c2f)(request);
}

THENCE_EXPORT MPI_Request MPI_Request_f2c(MPI_Fint request) {
    return is_fortran_handle(request) ? from_fortran(request) : THENCE_NEXT(Request_f2c)(request);
}

// MPI's library for Fortran asks this function, and passes the result to functions that are redirected to ours. If they
// are not, it would crash.
THENCE_EXPORT MPI_Request PMPI_Request_f2c(MPI_Fint request) {
    if (!is_fortran_handle(request)) [[likely]] {
        return THENCE_NEXT(Request_f2c)(request);
    }
    if (fortran_takes_crs()) [[likely]] {
        return from_fortran(request);
    }
    constexpr const char *why = "MPI's calls in Fortran take no continuation request here: call thence_wait, "
                                "thence_test or thence_free (member fortran of thence_query says why)";
    std::fprintf(stderr, "thence: %s\n", why);
    refuse("PMPI_Request_f2c", MPI_ERR_REQUEST, why);
    return MPI_REQUEST_NULL;
}

} // extern "C"

#endif
