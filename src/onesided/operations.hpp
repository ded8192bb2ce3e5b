// SPDX-License-Identifier: BSD-3-Clause
// The operations, after their arguments have been checked. Each is direct, if the part is reached so and nothing that
// was sent to its process before is under way, else a message.
#pragma once

#include "onesided/segment.hpp"
#include "onesided/space.hpp"

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace thence::onesided {

// Several puts to one process on one queue, of which the last one sets a notification. It sets none if another one has
// failed at the target.
struct list_of_puts {
    std::uint64_t number = 0; // in its packets; 0: no put was a message
};

// Who learns of local completion.
struct completion {
    MPI_Request *request = nullptr;  // null: a queue, for which the rest is
    queue *in = nullptr;             // it, if it is not that of the operation
    std::uint32_t *serial = nullptr; // with a request: where pending::serial goes
    std::uint64_t tag = 0;           // reported by the queue
    std::uint32_t completions = 0;   // so often
    std::uint32_t entries = 0;       // without a tag: the room that was taken in the queue
    pending *end = nullptr;          // the operation is a part of it
    // Counts operations that use the part of this process, until each is complete. One that has failed while MPI may
    // still use the part is counted for ever.
    std::atomic<long> *local_use = nullptr;
    // The call does not wait until the target has room for a packet more: its caller has waited.
    bool has_room = false;
    list_of_puts *list = nullptr; // the operation is a put of this list
    // Becomes true if the operation is a message.
    bool *is_message = nullptr;
};

struct location {
    segment *remote_segment;
    int rank;
    std::uint64_t offset;
};

// The queue that an operation belongs to.
inline queue &queue_for(const location &remote, int number, const completion &how) noexcept {
    return how.in != nullptr ? *how.in : remote.remote_segment->in.queue_of(number);
}

// A notification; its value 0: none.
struct signal {
    segment *in_segment = nullptr;
    unsigned number = 0;
    std::uint32_t value = 0;
};

// What a message moves at most, since MPI counts in int. Tests change it.
extern THENCE_INTERNAL std::uint64_t most_in_message;

// Data by messages go in pieces that fit one. A queue reports a tag when all of them are complete. A request is for one
// message: a caller with more data gives a queue.
//
// All return an error code. After an error the operation is not in the queue, and its room is still taken.
THENCE_INTERNAL int put(const void *from, std::uint64_t bytes, const location &to, const signal &after, int queue,
                        const completion &how) noexcept;
THENCE_INTERNAL int get(void *to, std::uint64_t bytes, const location &from, int queue, const completion &how) noexcept;
THENCE_INTERNAL int notify(int rank, const signal &what, int queue, const completion &how) noexcept;
THENCE_INTERNAL int atomic(wire::kind what, const std::uint64_t (&operands)[2], const location &at, std::uint64_t *old,
                           int queue, const completion &how) noexcept;

} // namespace thence::onesided
