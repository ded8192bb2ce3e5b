// SPDX-License-Identifier: BSD-3-Clause
// While an object of this class lives, errors that belong to no communicator of the user are only returned: for a call
// that may fail without harm. The error handlers of MPI_COMM_WORLD and MPI_COMM_SELF change for all threads meanwhile.
//
// MPICH 5 takes the handler of MPI_COMM_SELF for such errors only after somebody has set one, and before that the
// handler of MPI_COMM_WORLD. One that is set back counts as set: a later failure that the handler of MPI_COMM_WORLD
// would return ends the program. Nothing tells whether it was set. So in MPICH and what is made from it,
// MPI_ERRORS_ARE_FATAL, the default, is left on MPI_COMM_SELF.
#pragma once

#include "core/mpi/calls.hpp"

namespace thence::mpi {

class scoped_errors_return {
public:
    scoped_errors_return() noexcept;
    ~scoped_errors_return();
    scoped_errors_return &operator=(scoped_errors_return &&) = delete;

private:
    // MPI_ERRHANDLER_NULL: not replaced.
    MPI_Errhandler of_world_ = MPI_ERRHANDLER_NULL;
    MPI_Errhandler of_self_ = MPI_ERRHANDLER_NULL;
};

} // namespace thence::mpi
