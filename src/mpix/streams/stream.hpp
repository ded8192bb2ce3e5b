// SPDX-License-Identifier: BSD-3-Clause
// The streams of this process (thence/stream.h): their table, and what each stands for.
//
// Invariant: a context lives from create() to destroy(). Each communicator counts in `communicators`, from its
// creation, or that of its copy, until MPI deletes its attribute; destroy() refuses while there is any. So whoever
// holds a communicator may use the context that it names.
//
// The handle is an int that neither MPICH's streams (0xbc......) nor any other object of MPICH has: the prefix 0x3d
// differs from that of MPIX_STREAM_NULL (0x3c, "invalid kind, stream") in a bit that means nothing for an invalid kind.
#pragma once

#include "core/api/errors.hpp"
#include "core/base/visibility.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/extension.hpp"
#include "mpix/queues/owned_queue.hpp"
#include "mpix/streams/serial_check.hpp"

#include <atomic>
#include <memory>

namespace thence::api::reason {

inline constexpr failure no_stream{MPI_ERR_ARG, "stream is no stream of this library"};
inline constexpr failure null_newcomm{MPI_ERR_ARG, "newcomm is null"};
inline constexpr failure queue_refused{MPI_ERR_OTHER, "the queue refused to take the operation"};

} // namespace thence::api::reason

namespace thence::streams {

struct context {
    int handle = mpi::stream_null;
    std::atomic<long> communicators{0};
    std::atomic<int> serving{0};         // threads that make progress for it; more only under the mutex of the table
    MPI_Info assertions = MPI_INFO_NULL; // for its communicators; our copy
    int native = mpi::stream_null;       // the stream of MPI's own below it
    queues::owned_queue queue;           // null: calls alone make the order
    serial_use use;                      // by threads, if streams are checked

    context();
    ~context(); // gives back what MPI has made for it
};

inline constexpr int handle_prefix = 0x3d000000;
inline constexpr int most_streams = 1 << 24;

// Gives the context a handle and owns it from then on. Returns false, and has not taken it, if there are too many or
// memory is exhausted.
bool add(std::unique_ptr<context> &added) noexcept;
// The live stream of a handle, or null.
context *find(int handle) noexcept;

enum class freeing { done, has_communicators, has_work, refused_by_mpi };
// Waits until what is enqueued on the queue of the stream, if it has one, is complete. Makes progress meanwhile.
// Returns at once if it cannot wait, in a callback or after MPI_Finalize, or if the stream has communicators.
void wait_for_work(const context &stream) noexcept;
// Progress for the stream alone: the first begins what its queue has reached, the second polls the endpoint of MPI's
// own. For a handle that is no stream they do nothing. No stream is destroyed while another thread is in them.
void begin_reached(int handle) noexcept;
void poll_endpoint(int handle) noexcept;
// Destroys the stream. Unless it returns `done`, nothing has changed. `code`: the error of MPI.
freeing destroy(context &stream, int &code) noexcept;

// A stream of MPI's own, or stream_null if MPI has none or gives none.
int take_native() noexcept;
mpi::extension_facts streams() noexcept;

} // namespace thence::streams
