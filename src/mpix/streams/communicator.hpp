// SPDX-License-Identifier: BSD-3-Clause
// Stream communicators: an attribute of the communicator names its stream. MPI copies and deletes it with the
// communicator, so MPI_Comm_dup, MPI_Comm_idup and MPI_Comm_free are right without being interposed.
//
// Invariant: each communicator with the attribute has an object of its own, which counts in its context.
#pragma once

#include "core/base/visibility.hpp"
#include "core/progress/interposed.hpp"
#include "mpix/streams/stream.hpp"

#include <mpi.h>

#include <atomic>
#include <memory>

namespace thence::streams {

// What one communicator has.
struct attachment {
    context *stream;
    // Enqueued operations of this communicator that have not begun. Each that is not complete shares the number.
    std::shared_ptr<std::atomic<long>> not_begun = std::make_shared<std::atomic<long>>(0);
};

// Creates the communicator. Collective. Returns MPI_SUCCESS, the error of MPI, or MPI_ERR_NO_MEM.
int create_communicator(MPI_Comm comm, context *stream, MPI_Comm &created) noexcept;

// What a communicator has, or null.
attachment *attachment_of(MPI_Comm comm) noexcept;
// A communicator that was copied from one with a stream gets rid of it.
void remove_stream(MPI_Comm comm) noexcept;

// For interposed calls: true if the communicator has a stream with a queue. False in the function that starts an
// enqueued operation on this communicator, since the queue has reached that.
THENCE_INTERNAL bool has_queue(MPI_Comm comm) noexcept;
inline bool has_queue_if_any(MPI_Comm comm) noexcept {
    return (progress::slow_path_reasons.load(std::memory_order_relaxed) & progress::own_communicators) != 0 &&
           !progress::calls_only_count() && has_queue(comm);
}

// For interposed calls that are not enqueued: reports that, and returns the code.
THENCE_INTERNAL int refuse_on_queue(const char *call, MPI_Comm comm) noexcept;

// For interposed calls that free a communicator: waits until all operations that are enqueued on it have begun, and
// makes progress meanwhile. MPI completes them although the communicator is freed. With `completes`, for
// MPI_Comm_disconnect, it waits until they are complete: that of Intel MPI crashes if one is outstanding. Then the
// communicator has no stream any more. False in a callback that would have to wait: then `code` is the error, which is
// reported, and MPI must not be called.
THENCE_INTERNAL bool prepare_to_free(const char *call, MPI_Comm comm, bool completes, int &code) noexcept;

} // namespace thence::streams
