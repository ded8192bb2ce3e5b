// SPDX-License-Identifier: BSD-3-Clause
#include "core/mpi/cancel.hpp"

#include "core/mpi/calls.hpp"
#include "core/mpi/quietly.hpp"

namespace thence::mpi {

void cancel(MPI_Request request) noexcept {
    const quietly without_abort; // that MPI cannot cancel an operation is no error of ours
    table.Cancel(&request);
}

} // namespace thence::mpi
