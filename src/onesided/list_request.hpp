// SPDX-License-Identifier: BSD-3-Clause
// A request for a list of operations, complete when all of them are. They have a queue of their own, at which polls of
// the space look.
#pragma once

#include "onesided/own_request.hpp"
#include "onesided/queue.hpp"

namespace thence::onesided {

struct list_request final : own_request {
    queue pending_pieces;
};

} // namespace thence::onesided
