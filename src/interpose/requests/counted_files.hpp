// SPDX-License-Identifier: BSD-3-Clause
// Counts the files that are open, which may keep the helper thread out of MPI (core/progress/plain_operations.hpp).
#pragma once

#include "core/progress/plain_operations.hpp"

#include <mpi.h>

namespace thence::interpose {

// `open` and `close` call MPI, and return its error code.
template <class Open> int open_counted_file(Open open) {
    progress::file_opens();
    const int code = open();
    if (code != MPI_SUCCESS) {
        progress::file_closed();
    }
    return code;
}
template <class Close> int close_counted_file(Close close) {
    const int code = close();
    if (code == MPI_SUCCESS) {
        progress::file_closed();
    }
    return code;
}

} // namespace thence::interpose
