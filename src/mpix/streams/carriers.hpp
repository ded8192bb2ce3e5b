// SPDX-License-Identifier: BSD-3-Clause
// The requests of enqueued operations for which the queue does not wait. Each is a generalized request of MPI, the carrier
// of the operation, so that the completion calls of MPI take it as well as thence_wait_enqueue().
//
// Invariant: a carrier is in the table from its creation until MPI frees it, or a wait for it is enqueued. Its item lives
// until MPI frees it.
#pragma once

#include "mpix/streams/queue.hpp"

namespace thence::stream {

// Creates the carrier of the item.
int start_carrier(item &it) noexcept;
// The item of a carrier for which no wait is enqueued, or null.
item *item_of(MPI_Request request) noexcept;
// From now on nobody can wait for the carrier. release_carrier() follows.
item *claim_carrier(MPI_Request request) noexcept;
void release_carrier(MPI_Request carrier) noexcept;
// The operation will not take place.
void abandon_carrier(MPI_Request carrier) noexcept;

} // namespace thence::stream
