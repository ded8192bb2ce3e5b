// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>
#include <source_location>

namespace apps {

// Prints an error of MPI with its place, and ends the program.
void fail(int error, const std::source_location &where);

// `error`: what a call of MPI or Thence has returned, or what a callback got. An error ends the program. With the
// default error handler MPI ends it first.
inline void check(int error, const std::source_location &where = std::source_location::current()) {
    if (error != MPI_SUCCESS) [[unlikely]] {
        fail(error, where);
    }
}

} // namespace apps
