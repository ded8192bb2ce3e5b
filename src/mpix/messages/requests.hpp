// SPDX-License-Identifier: BSD-3-Clause
// Generalized requests of MPI for operations: the user gets a real request, which every completion call of MPI takes,
// alone and among others. While one is open, messages are a source of progress (source.hpp).
#pragma once

#include "mpix/messages/message.hpp"

#include <memory>

namespace thence::messages {

// Gives the operation a request. It was made with new, and the request deletes it. Returns an error class.
int start_request(p2p_operation &op) noexcept;
// Gives the operation, which has ended, a request that is complete. Null: memory is exhausted. Returns an error class.
int make_complete_request(std::unique_ptr<p2p_operation> op, MPI_Request &request) noexcept;

// True while the request of an operation is open.
inline bool any_open_request() noexcept {
    return open_requests.load(std::memory_order_relaxed) != 0;
}

// What MPI_Cancel has left to do, see requests.cpp.
bool any_cancelled() noexcept;
void finish_cancelled() noexcept;

} // namespace thence::messages
