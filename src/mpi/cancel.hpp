// SPDX-License-Identifier: BSD-3-Clause
// MPI_Cancel on an operation of any kind. Most kinds cannot be cancelled, and MPIs answer with an error, which would
// meet the error handler of MPI_COMM_WORLD and by default end the program. Which kind a request is, a stock MPI does
// not tell: so the attempt is made while that handler is MPI_ERRORS_RETURN, and an operation that cannot be cancelled
// completes as usual.
#pragma once

#include <mpi.h>

namespace thence::mpi {

void cancel(MPI_Request request) noexcept;

} // namespace thence::mpi
