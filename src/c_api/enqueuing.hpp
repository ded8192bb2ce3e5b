// SPDX-License-Identifier: BSD-3-Clause
// What the calls of thence/enqueue.h share: from a communicator to its queue, and buffers that MPI does not take.
#pragma once

#include "c_api/checks.hpp"
#include "mpi/calls.hpp"
#include "mpi/stream_calls.hpp"
#include "stream/communicator.hpp"
#include "stream/queue.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <span>

namespace thence::c_api {

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

// Enqueues an operation that the queue waits for, or, with `request`, one that it does not wait for. `data` of `what` are
// the arguments, in which buffers that MPI does not take are replaced by copies.
int enqueue(const public_call &call, stream::starting what, std::span<buffer_use> buffers, MPI_Status *status,
            MPI_Request *request) noexcept;

// The same for a structure of arguments `Arguments`, which `start` gets, and `buffers`.
template <class Arguments, std::size_t n>
int enqueue(const public_call &call, Arguments &arguments, thence_start_function *start,
            std::array<buffer_use, n> buffers, MPI_Comm comm, const void *where, MPI_Status *status,
            MPI_Request *request = nullptr) noexcept {
    return enqueue(call, {start, &arguments, sizeof arguments, comm, nullptr, where}, buffers, status, request);
}

} // namespace thence::c_api
