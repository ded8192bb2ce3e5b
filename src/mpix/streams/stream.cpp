// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/streams/stream.hpp"

#include "core/base/spin_lock.hpp"
#include "core/continuation/lifetime.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/scoped_errors_return.hpp"
#include "core/progress/interposed.hpp"
#include "mpix/messages/waiting.hpp"
#include "mpix/queues/queue.hpp"

#include <mutex>
#include <new>
#include <vector>

namespace thence::streams {

namespace {

std::mutex mutex; // guards the table and the use of MPI's own streams
// The end of a stream calls functions of the program, which must not happen while the process exits.
std::vector<std::unique_ptr<context>> &table() {
    static auto &made = *new std::vector<std::unique_ptr<context>>;
    return made;
}
std::vector<int> &unused() { // indices of the table
    static auto &made = *new std::vector<int>;
    return made;
}
bool native_refused = false; // MPI gave no stream although none was in use
long natives = 0;

context *at(int handle) noexcept { // under the mutex
    const auto index = static_cast<unsigned>(handle) - static_cast<unsigned>(handle_prefix);
    return index < table().size() ? table()[index].get() : nullptr;
}

void give_native(int native) noexcept {
    const std::scoped_lock guard(mutex);
    if (mpi::usable()) {
        const mpi::scoped_errors_return without_abort;
        mpi::table.stream_free(&native);
    }
    --natives;
}

// While it exists, the stream does too.
struct served {
    explicit served(int handle) noexcept {
        const std::scoped_lock guard(mutex);
        stream = at(handle);
        if (stream != nullptr) {
            stream->serving.fetch_add(1);
        }
    }
    ~served() {
        if (stream != nullptr) {
            stream->serving.fetch_sub(1);
        }
    }
    served &operator=(served &&) = delete;
    context *stream;
};

} // namespace

context::context() = default;
context::~context() {
    if (native != mpi::stream_null) {
        give_native(native);
    }
    if (assertions != MPI_INFO_NULL && mpi::usable()) {
        mpi::table.Info_free(&assertions);
    }
}

bool add(std::unique_ptr<context> &added) noexcept {
    const std::scoped_lock guard(mutex);
    try {
        if (unused().empty()) {
            if (table().size() == static_cast<std::size_t>(most_streams)) {
                return false;
            }
            unused().reserve(table().size() + 1); // so that destroy() needs no memory
            table().emplace_back();
            unused().push_back(static_cast<int>(table().size()) - 1);
        }
    } catch (const std::bad_alloc &) {
        return false;
    }
    const int index = unused().back();
    unused().pop_back();
    if (added->queue != nullptr) {
        progress::add_own_communicators();
    }
    added->handle = handle_prefix | index;
    table()[static_cast<std::size_t>(index)] = std::move(added);
    check_streams_if_asked();
    return true;
}

context *find(int handle) noexcept {
    const std::scoped_lock guard(mutex);
    return at(handle);
}

void wait_for_work(const context &stream) noexcept {
    if (stream.queue == nullptr || stream.communicators.load() != 0 || !continuation::free_to_run()) {
        return;
    }
    for (messages::waiting wait; !stream.queue->is_idle() && !continuation::has_ended();) {
        wait();
    }
}

void begin_reached(int handle) noexcept {
    const served found(handle);
    if (found.stream != nullptr && found.stream->queue != nullptr && found.stream->queue->is_triggered() &&
        continuation::free_to_run()) {
        found.stream->queue->begin_triggered();
    }
}

void poll_endpoint(int handle) noexcept {
    const served found(handle);
    if (found.stream != nullptr && found.stream->native != mpi::stream_null && mpi::table.stream_progress != nullptr) {
        mpi::table.stream_progress(found.stream->native); // general progress need not include it
    }
}

freeing destroy(context &stream, int &code) noexcept {
    std::unique_ptr<context> freed;
    {
        std::unique_lock guard(mutex);
        for (base::spin_wait wait; stream.serving.load() != 0;) { // without the lock, which that thread may need
            guard.unlock();
            wait();
            guard.lock();
        }
        if (stream.communicators.load() != 0) {
            return freeing::has_communicators;
        }
        if (stream.queue != nullptr && !stream.queue->is_idle()) {
            return freeing::has_work;
        }
        if (stream.native != mpi::stream_null && mpi::usable()) {
            const mpi::scoped_errors_return without_abort;
            if (code = mpi::table.stream_free(&stream.native); code != MPI_SUCCESS) {
                return freeing::refused_by_mpi;
            }
            stream.native = mpi::stream_null;
            --natives;
        }
        const int index = stream.handle - handle_prefix;
        freed = std::move(table()[static_cast<std::size_t>(index)]);
        unused().push_back(index);
    }
    if (streams_are_checked()) {
        forget_requests_of(*freed);
    }
    if (freed->queue != nullptr) {
        progress::remove_own_communicators();
    }
    return freeing::done;
}

int take_native() noexcept {
    const std::scoped_lock guard(mutex);
    int native = mpi::stream_null;
    if (mpi::table.stream_create == nullptr || native_refused) {
        return native;
    }
    const mpi::scoped_errors_return without_abort;
    if (mpi::table.stream_create(MPI_INFO_NULL, &native) != MPI_SUCCESS) {
        native_refused = natives == 0;
        return mpi::stream_null;
    }
    ++natives;
    return native;
}

mpi::extension_facts streams() noexcept {
    using mpi::extension_state;
    if (mpi::table.stream_create == nullptr) {
        return {extension_state::ours, "this MPI has no streams"};
    }
    const int native = take_native();
    const std::scoped_lock guard(mutex);
    if (native != mpi::stream_null) {
        int given = native;
        mpi::table.stream_free(&given);
        --natives;
    }
    return native != mpi::stream_null || natives != 0
               ? mpi::extension_facts{extension_state::native,
                                      "a stream uses an endpoint of this MPI while one is left"}
               : mpi::extension_facts{extension_state::ours,
                                      "this MPI has streams but gives none: MPIR_CVAR_CH4_RESERVE_VCIS is not set"};
}

} // namespace thence::streams
