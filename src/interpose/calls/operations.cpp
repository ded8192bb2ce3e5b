// SPDX-License-Identifier: BSD-3-Clause
// MPI_Op_free. An operation that nonblocking reductions on thread communicators use is freed after their end.
#include "interpose/calls/next.hpp"
#include "mpix/threadcomm/kept_operations.hpp"

#include <thence/thence.h>

extern "C" {

THENCE_EXPORT int MPI_Op_free(MPI_Op *op) {
    return op != nullptr && thence::threadcomm::free_after_use(*op) ? int{MPI_SUCCESS} : THENCE_NEXT(Op_free)(op);
}

} // extern "C"
