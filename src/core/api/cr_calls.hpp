// SPDX-License-Identifier: BSD-3-Clause
// The calls on one continuation request, for each API that has them under names of its own. Arguments as those of the
// functions of thence.h. `call`: the call that the user wrote, for errors.
#pragma once

#include "core/api/errors.hpp"
#include "core/base/visibility.hpp"

#include <mpi.h>

#include <optional>

namespace thence::api {

THENCE_INTERNAL int test(const public_call &call, MPI_Request *cr, int *flag, MPI_Status *status) noexcept;
THENCE_INTERNAL int start(const public_call &call, MPI_Request *cr) noexcept;
THENCE_INTERNAL int free(const public_call &call, MPI_Request *cr) noexcept;
THENCE_INTERNAL int cancel(const public_call &call, MPI_Request *cr) noexcept;
int get_failed(const public_call &call, MPI_Request cr, int *count, void **data) noexcept;

// thence_wait() under the name of MPI_Wait. It does not take the name: the fast path would pass it for nothing.
THENCE_INTERNAL int mpi_wait(MPI_Request *request, MPI_Status *status) noexcept;

// What is wrong with the CR as an argument of start().
THENCE_INTERNAL std::optional<failure> wrong_to_start(MPI_Request cr) noexcept;

} // namespace thence::api
