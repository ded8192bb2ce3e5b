// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point calls, as thread communicators and multiplex communicators need them. A room checks what is its own
// (ranks, indices, tags) and says where a message goes, or where it is received; the calls here do the rest.
#pragma once

#include "core/mpi/error_code.hpp"
#include "mpix/messages/endpoint.hpp"

#include <mpi.h>

namespace thence::messages {

class transport;

enum class send_mode { standard, synchronous, ready, buffered };

// The arguments of a message. `peer`: destination or source.
struct message_arguments {
    const void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    int peer;
    int tag;
};

using mpi::failure;
// Of an operation that has ended with this class of error.
failure failure_with(int error_class) noexcept;
inline failure failure_of(int error_class) noexcept {
    return error_class == MPI_SUCCESS ? failure{} : failure_with(error_class);
}
failure failure_to_describe(const message_arguments &message, int error) noexcept;
// As the function of data.hpp. `wrong` gets what is wrong; false: something is.
inline bool describe(const message_arguments &message, buffer &data, failure &wrong) noexcept {
    const int error = describe(message.buffer, message.count, message.type, data);
    if (error != MPI_SUCCESS) [[unlikely]] {
        wrong = failure_to_describe(message, error);
    }
    return error == MPI_SUCCESS;
}

// Where a message goes: to an endpoint of this process, or to another process.
struct destination {
    endpoint *receiver = nullptr; // null: in another process
    transport *between = nullptr; // with it
    int process = -1;             // the number of the other process there
    wire_header header;           // in this process only `source`, `index` and `tag` count
};

// Starts a send. True: it is complete, with the error class in `error`, and `op` is not used. Else it is complete when
// `op.done` is set, or its request is complete. `op.data` is set.
bool start_send(const destination &to, send_mode how, p2p_operation &op, int &error) noexcept;
void start_receive(endpoint &at, const pattern &wanted, p2p_operation &op) noexcept;
// Block until `op.done`. `receiver`: where the message was sent to, if that is in this process. `own`: an endpoint
// whose messages are received meanwhile, or null.
void wait_for_send(endpoint *receiver, endpoint *own, p2p_operation &op) noexcept;
void wait_for_receive(endpoint &at, p2p_operation &op) noexcept;

// The arguments of a call after the checks of its room.
struct send_call {
    failure wrong;
    buffer data;
    bool has_peer = false; // false: it is MPI_PROC_NULL
    destination to;
    endpoint *own = nullptr; // as wait_for_send() gets it
};
struct receive_call {
    failure wrong;
    buffer data;
    endpoint *at = nullptr; // null: the peer is MPI_PROC_NULL
    pattern wanted;
};
failure send(const send_call &call, send_mode how) noexcept;
failure isend(const send_call &call, send_mode how, MPI_Request *request) noexcept;
failure receive(const receive_call &call, MPI_Status *status) noexcept;
failure ireceive(const receive_call &call, MPI_Request *request) noexcept;
failure send_receive(const send_call &sent, const receive_call &received, MPI_Status *status) noexcept;

// What a receive from MPI_PROC_NULL gives.
outcome no_message() noexcept;

} // namespace thence::messages
