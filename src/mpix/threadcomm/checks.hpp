// SPDX-License-Identifier: BSD-3-Clause
// Checks of the arguments of messages on thread communicators.
#pragma once

#include "mpix/threadcomm/point_to_point.hpp"

namespace thence::threadcomm {

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

} // namespace thence::threadcomm
