// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/cancel.hpp"

#include "mpi/calls.hpp"
#include "mpi/implementation.hpp"

#include <mutex>

namespace thence::mpi {

void cancel(MPI_Request request) noexcept {
    static std::mutex mutex; // two threads at once would each restore the other's handler
    std::scoped_lock guard(mutex);
    MPI_Errhandler users = MPI_ERRHANDLER_NULL;
    table.Comm_get_errhandler(MPI_COMM_WORLD, &users);
    table.Comm_set_errhandler(MPI_COMM_WORLD, errors_return());
    table.Cancel(&request);
    table.Comm_set_errhandler(MPI_COMM_WORLD, users);
    table.Errhandler_free(&users);
}

} // namespace thence::mpi
