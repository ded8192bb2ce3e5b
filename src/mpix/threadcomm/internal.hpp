// SPDX-License-Identifier: BSD-3-Clause
// Messages that the library itself sends within a thread communicator, on the internal channel: what collective
// operations are made of.
//
// Tags: every collective operation on a communicator takes one number by begin_operation(), in the same order on all
// ranks as MPI demands of collective calls, and gives it as tag to all of its messages.
#pragma once

#include "mpix/threadcomm/communicator.hpp"

#include <cstdint>

namespace thence::threadcomm {

inline int begin_operation(member &me) noexcept {
    return static_cast<int>(me.operations++ & 0x7fffffffU);
}

// Starts a send or receive on one channel. True: it is complete, and `op` is not used. Else it is complete when `op.done`
// is set (or, if it has a request, when that is complete). `op.data` is set. Errors: an error class in `error`; the return
// value is true then.
bool start_send(member &me, channel which, int dest, int tag, endpoint::operation &op, bool synchronous,
                int &error) noexcept;
void start_receive(member &me, channel which, int source, int tag, endpoint::operation &op) noexcept;
// Blocks until `op.done`. `dest`: of a send, the rank; it makes progress for a receiver in this process.
void wait_for_send(member &me, channel which, int dest, endpoint::operation &op) noexcept;
void wait_for_receive(member &me, channel which, endpoint::operation &op) noexcept;

// Blocking. Each returns an error class.
int send(member &me, int dest, int tag, const endpoint::buffer &data) noexcept;
int receive(member &me, int source, int tag, const endpoint::buffer &data) noexcept;

// Collective: `all` gets the `bytes` bytes at `mine` of each rank, in the order of the ranks. Returns an error class.
int exchange_all(member &me, const void *mine, void *all, std::size_t bytes) noexcept;

} // namespace thence::threadcomm
