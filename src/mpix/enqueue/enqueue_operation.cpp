// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/enqueue/enqueue_operation.hpp"

#include <new>
#include <utility>
#include <vector>

namespace thence::enqueue {

using queues::enqueuing;

namespace {

// The bytes that `count` elements span, relative to the address of the buffer.
struct extent {
    MPI_Aint lower = 0;
    std::size_t bytes = 0;
    bool has_gaps = false;
};
extent extent_of(const buffer_use &buffer) noexcept {
    MPI_Aint lower = 0;
    MPI_Aint stride = 0;
    MPI_Aint true_lower = 0;
    MPI_Aint true_extent = 0;
    int size = 0;
    mpi::table.Type_get_extent(buffer.type, &lower, &stride);
    mpi::table.Type_get_true_extent(buffer.type, &true_lower, &true_extent);
    mpi::table.Type_size(buffer.type, &size);
    const auto last = static_cast<MPI_Aint>(buffer.count - 1) * stride; // of the last element, may be negative
    return {true_lower + (last < 0 ? last : 0), static_cast<std::size_t>(true_extent + (last < 0 ? -last : last)),
            size != true_extent || size != stride};
}

bool is_memory(const void *address) noexcept {
    return address != nullptr && address != MPI_IN_PLACE && address != MPI_BOTTOM;
}

// Copies in place of those buffers of one operation that MPI does not take. Invariant: their memory is given back here
// only if the operation was not enqueued, and by the queue itself, in its order, if it has a copy to make.
class copies {
public:
    explicit copies(queues::queue &to) noexcept : queue_(to) {}
    ~copies() {
        for (queues::copy_back &each : kept_) {
            each.bytes = 0;
            if (!copies_in_) {
                queue_.release(const_cast<void *>(each.from));
            }
        }
        if (copies_in_) {
            queue_.enqueue_copies(kept_);
        }
    }
    copies &operator=(copies &&) = delete;

    // Replaces the buffer by a copy if it has to be.
    enqueuing replace(const buffer_use &buffer) {
        int needed = 0;
        if (!is_memory(*buffer.slot) || buffer.count == 0) {
            return enqueuing::done;
        }
        const thence_queue &queue = queue_.handle();
        if (queue.table->needs_copy(queue.handle, *buffer.slot, &needed) != 0) {
            return enqueuing::refused;
        }
        if (needed == 0) {
            return enqueuing::done;
        }
        if (buffer.count < 0) {
            return enqueuing::not_copyable;
        }
        const extent span = extent_of(buffer);
        if (span.bytes == 0) {
            return enqueuing::done;
        }
        kept_.reserve(kept_.size() + 1);
        void *memory = queue_.allocate(span.bytes);
        if (memory == nullptr) {
            return enqueuing::no_memory;
        }
        char *original = static_cast<char *>(const_cast<void *>(*buffer.slot)) + span.lower;
        kept_.push_back({original, memory, buffer.written ? span.bytes : 0});
        *buffer.slot = static_cast<char *>(memory) - span.lower;
        // What the operation does not write must be the same afterwards.
        const bool must_copy = buffer.read || span.has_gaps;
        const bool copied = must_copy && queue_.copy(memory, original, span.bytes);
        copies_in_ = copies_in_ || copied;
        return copied || !must_copy ? enqueuing::done : enqueuing::refused;
    }

    // The operation is enqueued, which has them from now on.
    std::vector<queues::copy_back> take() noexcept { return std::exchange(kept_, {}); }
    // The same for a call that takes them if it enqueues the operation.
    std::vector<queues::copy_back> &&offer() noexcept { return std::move(kept_); }

private:
    queues::queue &queue_;
    std::vector<queues::copy_back> kept_;
    bool copies_in_ = false; // the queue has a copy to make, into one of them
};

} // namespace

queues::queue *queue_of(const api::public_call &call, queues::enqueued_operation &what, int &code) noexcept {
    if (what.comm == MPI_COMM_NULL) {
        code = api::fail(call, api::reason::null_comm);
        return nullptr;
    }
    const bool set_up = continuation::is_set_up.load(std::memory_order_acquire);
    streams::attachment *const attached = set_up ? streams::attachment_of(what.comm) : nullptr;
    if (attached == nullptr || attached->stream->queue == nullptr) {
        code = api::fail(call, mpi::usable() ? api::failure{MPI_ERR_OTHER, "comm has no stream with a queue"}
                                             : api::reason::mpi_inactive);
        return nullptr;
    }
    what.not_begun = attached->not_begun;
    code = attached->stream->queue->take_error();
    return code == MPI_SUCCESS ? attached->stream->queue.get() : nullptr;
}

int result_of(const api::public_call &call, queues::enqueuing how) noexcept {
    switch (how) {
    case enqueuing::done:
        return MPI_SUCCESS;
    case enqueuing::no_memory:
        return api::fail(call, api::reason::no_memory);
    case enqueuing::not_copyable:
        return api::fail(call,
                         {MPI_ERR_UNSUPPORTED_OPERATION,
                          "MPI does not take buffers in device memory, and those of this operation are not copied"});
    default:
        return api::fail(call, api::reason::queue_refused);
    }
}

enqueuing enqueue_with_copies(queues::queue &to, const queues::enqueued_operation &what,
                              std::span<const buffer_use> buffers, MPI_Status *status, MPI_Request *request) noexcept {
    try {
        copies all(to);
        for (const buffer_use &each : buffers) {
            if (const enqueuing how = all.replace(each); how != enqueuing::done) {
                return how;
            }
        }
        if (request != nullptr) {
            return to.enqueue(what, all.offer(), request);
        }
        const enqueuing how = to.enqueue(what, status);
        if (how == enqueuing::refused_rest) {
            all.take(); // MPI uses the memory, and the queue does not say when it does no longer
        }
        return how == enqueuing::done ? to.enqueue_copies(all.take()) : how; // the queue is behind the wait
    } catch (const std::bad_alloc &) {
        return enqueuing::no_memory;
    }
}

} // namespace thence::enqueue
