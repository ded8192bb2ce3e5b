// SPDX-License-Identifier: BSD-3-Clause
#include "core/mpi/scoped_errors_return.hpp"

#include "core/mpi/implementation.hpp"

#include <mutex>

namespace thence::mpi {

namespace {

std::mutex mutex; // two threads at once would each restore the other's handler

#if defined(OPEN_MPI)
constexpr bool handler_of_self_may_be_unset = false;
#else
constexpr bool handler_of_self_may_be_unset = true; // MPICH, Intel MPI, and the standard ABI on them
#endif

void replace(MPI_Comm comm, MPI_Errhandler &users) noexcept {
    table.Comm_get_errhandler(comm, &users);
    if (handler_of_self_may_be_unset && comm == MPI_COMM_SELF && users == MPI_ERRORS_ARE_FATAL) {
        table.Errhandler_free(&users); // sets it to null
        return;
    }
    table.Comm_set_errhandler(comm, errors_return());
}

void restore(MPI_Comm comm, MPI_Errhandler &users) noexcept {
    if (users != MPI_ERRHANDLER_NULL) {
        table.Comm_set_errhandler(comm, users);
        table.Errhandler_free(&users);
    }
}

} // namespace

scoped_errors_return::scoped_errors_return() noexcept {
    mutex.lock();
    replace(MPI_COMM_WORLD, of_world_);
    replace(MPI_COMM_SELF, of_self_);
}

scoped_errors_return::~scoped_errors_return() {
    restore(MPI_COMM_SELF, of_self_);
    restore(MPI_COMM_WORLD, of_world_);
    mutex.unlock();
}

} // namespace thence::mpi
