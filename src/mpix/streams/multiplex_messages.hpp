// SPDX-License-Identifier: BSD-3-Clause
// Messages between the streams of multiplex communicators. Each call returns an MPI error code and has reported the error
// through the error handler of the communicator. `call`: the name of the user's call.
#pragma once

#include <mpi.h>

namespace thence::stream {

// The arguments of a message. `peer`: destination or source.
struct stream_message {
    const void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    int peer;
    int tag;
    int source_index;
    int dest_index;
};

int stream_send(const char *call, MPI_Comm comm, const stream_message &message) noexcept;
int stream_isend(const char *call, MPI_Comm comm, const stream_message &message, MPI_Request &request) noexcept;
int stream_receive(const char *call, MPI_Comm comm, const stream_message &message, MPI_Status *status) noexcept;
int stream_ireceive(const char *call, MPI_Comm comm, const stream_message &message, MPI_Request &request) noexcept;

} // namespace thence::stream
