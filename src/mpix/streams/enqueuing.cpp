// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/streams/enqueuing.hpp"

#include <new>
#include <vector>

namespace thence::api {

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

// Copies in place of those buffers of one operation that MPI does not take.
class copies {
public:
    explicit copies(stream::queue &its) noexcept : its_(its) {}
    ~copies() {
        for (const stream::copy_back &each : kept_) {
            its_.release(const_cast<void *>(each.from));
        }
    }
    copies(const copies &) = delete;
    copies &operator=(const copies &) = delete;

    // Replaces the buffer by a copy if it has to be. Returns MPI_SUCCESS or an error that result_of() knows, or -1: it
    // cannot be copied.
    int replace(const buffer_use &buffer) {
        int needed = 0;
        if (!is_memory(*buffer.slot) || buffer.count == 0) {
            return MPI_SUCCESS;
        }
        const thence_queue &queue = its_.handle();
        if (queue.table->needs_copy(queue.handle, *buffer.slot, &needed) != 0) {
            return MPI_ERR_OTHER;
        }
        if (needed == 0) {
            return MPI_SUCCESS;
        }
        if (buffer.count < 0) {
            return -1;
        }
        const extent its = extent_of(buffer);
        if (its.bytes == 0) {
            return MPI_SUCCESS;
        }
        kept_.reserve(kept_.size() + 1);
        void *memory = its_.allocate(its.bytes);
        if (memory == nullptr) {
            return MPI_ERR_NO_MEM;
        }
        char *original = static_cast<char *>(const_cast<void *>(*buffer.slot)) + its.lower;
        kept_.push_back({original, memory, buffer.written ? its.bytes : 0});
        *buffer.slot = static_cast<char *>(memory) - its.lower;
        // What the operation does not write must be the same afterwards.
        return buffer.read || its.has_gaps ? its_.copy(memory, original, its.bytes) : MPI_SUCCESS;
    }

    // The queue is behind the wait for the operation: enqueues what follows it.
    int finish() noexcept {
        int code = MPI_SUCCESS;
        for (const stream::copy_back &each : kept_) {
            if (each.bytes != 0 && its_.copy(each.to, each.from, each.bytes) != MPI_SUCCESS) {
                code = MPI_ERR_OTHER;
            }
            if (its_.enqueue_release(const_cast<void *>(each.from)) != MPI_SUCCESS) {
                code = MPI_ERR_OTHER; // the memory stays
            }
        }
        kept_.clear();
        return code;
    }
    std::vector<stream::copy_back> take() noexcept { return std::move(kept_); }

private:
    stream::queue &its_;
    std::vector<stream::copy_back> kept_;
};

int enqueue_copied(const public_call &call, stream::queue &its, const stream::starting &what,
                   std::span<buffer_use> buffers, MPI_Status *status, MPI_Request *request) {
    copies all(its);
    for (const buffer_use &each : buffers) {
        if (const int code = all.replace(each); code != MPI_SUCCESS) {
            return code == -1 ? fail(call, reason::no_copy_of_such) : result_of(call, code);
        }
    }
    if (request != nullptr) {
        return result_of(call, its.enqueue(what, all.take(), request));
    }
    if (const int code = its.enqueue(what, status); code != MPI_SUCCESS) {
        return result_of(call, code);
    }
    return result_of(call, all.finish());
}

} // namespace

stream::queue *queue_of(const public_call &call, MPI_Comm comm, stream::attachment *&its, int &code) noexcept {
    if (comm == MPI_COMM_NULL) {
        code = fail(call, reason::null_comm);
        return nullptr;
    }
    its = continuation::is_set_up.load(std::memory_order_acquire) ? stream::attachment_of(comm) : nullptr;
    if (its == nullptr || its->its->order == nullptr) {
        code = mpi::usable() ? fail(call, reason::no_queue) : fail(call, reason::mpi_inactive);
        return nullptr;
    }
    code = its->its->order->take_error();
    return code == MPI_SUCCESS ? its->its->order.get() : nullptr;
}

int result_of(const public_call &call, int code) noexcept {
    return code == MPI_ERR_NO_MEM  ? fail(call, reason::no_memory)
           : code == MPI_ERR_OTHER ? fail(call, reason::queue_refused)
                                   : code;
}

int enqueue_with_copies(const public_call &call, stream::queue &its, const stream::starting &what,
                        std::span<buffer_use> buffers, MPI_Status *status, MPI_Request *request) noexcept {
    try {
        return enqueue_copied(call, its, what, buffers, status, request);
    } catch (const std::bad_alloc &) {
        return fail(call, reason::no_memory);
    }
}

} // namespace thence::api
