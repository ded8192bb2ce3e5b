// SPDX-License-Identifier: BSD-3-Clause
// Windows that MPI refuses to create since THENCE_PROGRESS=always has raised its thread level: Open MPI 4.1 does so
// over TCP. The program has worked without, and MPI's default error handler would end it before anybody could say why.
#pragma once

#include "core/base/visibility.hpp"

#include <mpi.h>

namespace thence::interpose {

// A call lasts that creates a window of this communicator. If it may be refused for that reason, MPI only returns
// errors of the communicator meanwhile.
class THENCE_INTERNAL window_creation {
public:
    explicit window_creation(MPI_Comm comm) noexcept;
    window_creation &operator=(window_creation &&) = delete;
    // The call of this name has returned `code`. If it was refused, this says why, once in a process. Then the error
    // handler of the communicator is called. @return `code`.
    int end(const char *call, int code) noexcept;

private:
    MPI_Comm comm_;
    MPI_Errhandler users_ = MPI_ERRHANDLER_NULL; // null: the call is not watched
};

} // namespace thence::interpose
