// SPDX-License-Identifier: BSD-3-Clause
#include "core/mpi/cancel.hpp"

#include "core/mpi/calls.hpp"
#include "core/mpi/scoped_errors_return.hpp"

namespace thence::mpi {

void cancel(MPI_Request request) noexcept {
    const scoped_errors_return without_abort; // that MPI cannot cancel an operation is no error of ours
    table.Cancel(&request);
}

} // namespace thence::mpi
