// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/cancel.hpp"

#include "mpi/calls.hpp"
#include "mpi/quietly.hpp"

namespace thence::mpi {

void cancel(MPI_Request request) noexcept {
    const quietly without_abort; // that MPI cannot cancel an operation is no error of ours
    table.Cancel(&request);
}

} // namespace thence::mpi
