// SPDX-License-Identifier: BSD-3-Clause
// What a stream has of its queue.
#pragma once

#include <memory>

namespace thence::queues {

class queue;

// Calls close(): the queue itself may have to stay.
struct queue_closer {
    void operator()(queue *closed) const noexcept;
};
using owned_queue = std::unique_ptr<queue, queue_closer>;

} // namespace thence::queues
