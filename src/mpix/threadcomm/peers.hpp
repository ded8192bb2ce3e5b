// SPDX-License-Identifier: BSD-3-Clause
// Checks of the arguments of messages on thread communicators.
#pragma once

#include "mpix/messages/message.hpp"
#include "mpix/threadcomm/messages.hpp"

namespace thence::threadcomm {

// Each returns the rank of this thread, or null after it has reported what is wrong, with the code in `code`.
member *check_send(const char *call, communicator &comm, const message_arguments &message, endpoint::buffer &data,
                   int &code) noexcept;
member *check_receive(const char *call, communicator &comm, const message_arguments &message, endpoint::buffer &data,
                      int &code) noexcept;
member *check_source(const char *call, communicator &comm, int source, int tag, int &code) noexcept;
// That this thread has started.
member *check_self(const char *call, communicator &comm, int &code) noexcept;

// What a receive from MPI_PROC_NULL gives.
endpoint::outcome no_message() noexcept;

} // namespace thence::threadcomm
