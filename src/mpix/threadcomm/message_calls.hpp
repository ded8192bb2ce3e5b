// SPDX-License-Identifier: BSD-3-Clause
// Messages on thread communicators: the checks of arguments, and the calls, as MPI's of these names. Each call returns
// an MPI error code and has reported the error. `call`: the name of the user's call.
#pragma once

#include "mpix/messages/point_to_point.hpp"
#include "mpix/threadcomm/communicator.hpp"

namespace thence::threadcomm {

using messages::message_arguments;
using mode = messages::send_mode;

// The checks.

// The call for src/mpix/messages, or what is wrong with it.
messages::send_call checked_send(communicator &comm, const message_arguments &message) noexcept;
messages::receive_call checked_receive(communicator &comm, const message_arguments &message) noexcept;

// Each returns the rank of this thread, or null after it has reported what is wrong, with the code in `code`.
member *check_source(const char *call, communicator &comm, int source, int tag, int &code) noexcept;
// That this thread has started.
member *check_self(const char *call, communicator &comm, int &code) noexcept;

// Reports the failure, if it is one, through the error handler of the communicator and returns its code.
inline int report(const communicator &comm, const char *call, const messages::failure &what) noexcept {
    return what ? fail(comm.handle, call, what.error_class, what.text) : int{MPI_SUCCESS};
}

// Where a message of this rank to another one goes.
void set_destination(messages::destination &to, const member &me, channel which, int dest, int tag) noexcept;

// The calls.

THENCE_INTERNAL int send(const char *call, communicator &comm, mode how, const message_arguments &message) noexcept;
THENCE_INTERNAL int isend(const char *call, communicator &comm, mode how, const message_arguments &message,
                          MPI_Request *request) noexcept;
THENCE_INTERNAL int receive(const char *call, communicator &comm, const message_arguments &message,
                            MPI_Status *status) noexcept;
THENCE_INTERNAL int ireceive(const char *call, communicator &comm, const message_arguments &message,
                             MPI_Request *request) noexcept;
THENCE_INTERNAL int send_receive(const char *call, communicator &comm, const message_arguments &sent,
                                 const message_arguments &received, MPI_Status *status) noexcept;
// `message`: of the send, whose buffer gets the data received from `source` with `tag`.
THENCE_INTERNAL int send_receive_replace(const char *call, communicator &comm, const message_arguments &sent,
                                         int source, int tag, MPI_Status *status) noexcept;
// The sent data are copied at once, so both may have one buffer.
THENCE_INTERNAL int isend_receive(const char *call, communicator &comm, const message_arguments &sent,
                                  const message_arguments &received, MPI_Request *request) noexcept;

// `flag`: null for the blocking forms.
THENCE_INTERNAL int probe(const char *call, communicator &comm, int source, int tag, int *flag,
                          MPI_Status *status) noexcept;
THENCE_INTERNAL int matched_probe(const char *call, communicator &comm, int source, int tag, int *flag,
                                  MPI_Message *message, MPI_Status *status) noexcept;

// True if a message of `comm` that matched_probe() has returned is not received: `comm` must stay.
bool has_matched_messages(const communicator &comm) noexcept;
// True for the handle of a message that matched_probe() has returned. No other message has such a handle.
THENCE_INTERNAL bool is_own(MPI_Message message) noexcept;
// `status` or `request` is null: the blocking or the nonblocking form.
THENCE_INTERNAL int receive_matched(const char *call, const message_arguments &into, MPI_Message *message,
                                    MPI_Status *status, MPI_Request *request) noexcept;

} // namespace thence::threadcomm
