// SPDX-License-Identifier: BSD-3-Clause
// The collective channel of a thread communicator: messages of its collective operations, which no wildcard of the
// user's receives matches.
//
// Tags: every collective operation on a communicator takes one number by begin_operation(), in the same order on all
// ranks as MPI demands of collective calls, and gives it as tag to all of its messages.
#pragma once

#include "mpix/threadcomm/message_calls.hpp"

namespace thence::threadcomm {

inline int begin_operation(member &me) noexcept {
    return static_cast<int>(me.operations++ & 0x7fffffffU);
}

// Collective: `all` gets the `bytes` bytes at `mine` of each rank, in the order of the ranks. Returns an error class.
int exchange_all(member &me, const void *mine, void *all, std::size_t bytes) noexcept;

} // namespace thence::threadcomm
