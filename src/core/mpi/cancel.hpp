// SPDX-License-Identifier: BSD-3-Clause
// MPI_Cancel on an operation of any kind. Most kinds cannot be cancelled. Then MPI calls the error handler of
// MPI_COMM_WORLD, which by default ends the program. A stock MPI does not tell the kind of a request. So MPI_Cancel is
// called while that handler is MPI_ERRORS_RETURN. An operation that cannot be cancelled completes as usual.
#pragma once

#include <mpi.h>

namespace thence::mpi {

void cancel(MPI_Request request) noexcept;

} // namespace thence::mpi
