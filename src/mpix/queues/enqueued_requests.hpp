// SPDX-License-Identifier: BSD-3-Clause
// The requests of enqueued operations for which the queue does not wait. Each is a generalized request of MPI, so that
// the completion calls of MPI take it as well as thence_wait_enqueue().
//
// Invariant: a request is in the table from its creation until MPI frees it, or a wait for it is enqueued. Its item
// lives until MPI frees it.
#pragma once

#include "mpix/queues/queue.hpp"

namespace thence::queues {

// Creates the request of the item. False: MPI refuses, or memory is exhausted.
bool start_request(item &it) noexcept;
// The item of a request for which no wait is enqueued, or null.
item *item_of(MPI_Request request) noexcept;
// From now on nobody can wait for the request. release_request() follows.
item *claim_request(MPI_Request request) noexcept;
void release_request(MPI_Request request) noexcept;
// The operation will not take place.
void abandon_request(MPI_Request request) noexcept;

} // namespace thence::queues
