// SPDX-License-Identifier: BSD-3-Clause
// MPI_Grequest_complete. Inside a poll or wait function MPI is told after the function has returned.
#include "interpose/calls/next.hpp"
#include "interpose/requests/grequests.hpp"

#include <thence/thence.h>

extern "C" {

THENCE_EXPORT int MPI_Grequest_complete(MPI_Request request) {
    return thence::interpose::any_grequests() ? thence::interpose::complete_grequest(request)
                                              : THENCE_NEXT(Grequest_complete)(request);
}

} // extern "C"
