// SPDX-License-Identifier: BSD-3-Clause
// What the calls of thence/enqueue.h share: from a communicator to its queue, and buffers that MPI does not take.
#pragma once

#include "core/api/checks.hpp"
#include "core/mpi/calls.hpp"
#include "mpix/streams/communicator.hpp"
#include "mpix/streams/queue.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <span>

namespace thence::api {

// Returns the queue of a communicator, and sets `its`. Null: `code` is the error, which is reported.
stream::queue *queue_of(const public_call &call, MPI_Comm comm, stream::attachment *&its, int &code) noexcept;

// One buffer of an operation.
struct buffer_use {
    const void **slot; // where the arguments have its address
    MPI_Count count;   // how many elements; negative: the operation does not say in one number
    MPI_Datatype type;
    bool read;
    bool written;
};

// Reports the error of a call of the queue, if it is one.
int result_of(const public_call &call, int code) noexcept;

// Enqueues an operation, some of whose buffers may have to be copied. `data` of `what` are the arguments, in which such
// buffers are replaced by copies.
int enqueue_with_copies(const public_call &call, stream::queue &its, const stream::starting &what,
                        std::span<buffer_use> buffers, MPI_Status *status, MPI_Request *request) noexcept;

// Enqueues an operation that the queue waits for, or, with `request`, one that it does not wait for. `describe` returns its
// buffers, an array of buffer_use.
template <class Describe>
int enqueue(const public_call &call, stream::starting &&what, Describe &&describe, MPI_Status *status,
            MPI_Request *request = nullptr) noexcept {
    int code = MPI_SUCCESS;
    stream::queue *its = queue_of(call, what.comm, what.of, code);
    if (its == nullptr) {
        return code;
    }
    if (its->handle().table->needs_copy != nullptr) [[unlikely]] {
        auto buffers = describe();
        return enqueue_with_copies(call, *its, what, buffers, status, request);
    }
    code = request != nullptr ? its->enqueue(what, {}, request) : its->enqueue(what, status);
    return code == MPI_SUCCESS ? code : result_of(call, code);
}

} // namespace thence::api
