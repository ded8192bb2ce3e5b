// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <thence/detail/cxx20.hpp>

#include <mpi.h>

namespace thence::detail {

/** Sends a message that nobody waits for. The data stay as they are for ever. @return MPI's error code. */
inline int send_alone(const void *data, int bytes, int to, int tag, MPI_Comm comm) noexcept {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = MPI_Isend(data, bytes, MPI_BYTE, to, tag, comm, &request);
    return code == MPI_SUCCESS ? MPI_Request_free(&request) : code;
}

} // namespace thence::detail
