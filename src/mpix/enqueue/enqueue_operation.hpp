// SPDX-License-Identifier: BSD-3-Clause
// What the calls of thence/enqueue.h share: from a communicator to its queue, copies of buffers that MPI does not take,
// and what the user is told.
#pragma once

#include "core/api/checks.hpp"
#include "core/mpi/calls.hpp"
#include "mpix/queues/queue.hpp"
#include "mpix/streams/communicator.hpp"

#include <span>

namespace thence::enqueue {

// One buffer of an operation.
struct buffer_use {
    const void **slot; // where the arguments have its address
    MPI_Count count;   // how many elements; negative: the operation does not say in one number
    MPI_Datatype type;
    bool read;
    bool written;
};

// Returns the queue of a communicator, and sets `not_begun` of the operation. Null: `code` is the error, which is
// reported.
queues::queue *queue_of(const api::public_call &call, queues::enqueued_operation &what, int &code) noexcept;

// Reports how a call of the queue has ended, if it is an error, and returns its code.
int result_of(const api::public_call &call, queues::enqueuing how) noexcept;

// Enqueues an operation, some of whose buffers may have to be copied: the arguments get the copies in their place.
queues::enqueuing enqueue_with_copies(queues::queue &to, const queues::enqueued_operation &what,
                                      std::span<const buffer_use> buffers, MPI_Status *status,
                                      MPI_Request *request) noexcept;

// Enqueues an operation that the queue waits for, or, with `request`, one that it does not wait for. `describe` returns
// its buffers, an array of buffer_use.
template <class Describe>
int enqueue_operation(const api::public_call &call, queues::enqueued_operation &&what, Describe &&describe,
                      MPI_Status *status, MPI_Request *request = nullptr) noexcept {
    int code = MPI_SUCCESS;
    queues::queue *const to = queue_of(call, what, code);
    if (to == nullptr) {
        return code;
    }
    if (to->handle().table->needs_copy != nullptr) [[unlikely]] {
        return result_of(call, enqueue_with_copies(*to, what, describe(), status, request));
    }
    return result_of(call, request != nullptr ? to->enqueue(what, {}, request) : to->enqueue(what, status));
}

} // namespace thence::enqueue
