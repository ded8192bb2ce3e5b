// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point calls on thread communicators, as MPI's calls of these names. Each returns an MPI error code and has
// reported the error. `call`: the name of the user's call.
#pragma once

#include "mpix/messages/point_to_point.hpp"
#include "mpix/threadcomm/communicator.hpp"

namespace thence::threadcomm {

using messages::message_arguments;
using mode = messages::send_mode;

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
