// SPDX-License-Identifier: BSD-3-Clause
// Messages between the streams of multiplex communicators. Each call returns an MPI error code and has reported the
// error through the error handler of the communicator. `name`: the name of the user's call.
#pragma once

#include "mpix/messages/point_to_point.hpp"

#include <mpi.h>

namespace thence::streams {

struct stream_message : messages::message_arguments {
    int source_index;
    int dest_index;
};

int stream_send(const char *name, MPI_Comm comm, const stream_message &message) noexcept;
int stream_isend(const char *name, MPI_Comm comm, const stream_message &message, MPI_Request &request) noexcept;
int stream_receive(const char *name, MPI_Comm comm, const stream_message &message, MPI_Status *status) noexcept;
int stream_ireceive(const char *name, MPI_Comm comm, const stream_message &message, MPI_Request &request) noexcept;

} // namespace thence::streams
