// SPDX-License-Identifier: BSD-3-Clause
// The push path of the native Open MPI engine: MPI calls us when a request completes. It is inline, since attaching and
// running a continuation mostly consist of it. On an MPI without such a path everything here is constant, and the
// compiler removes what depends on it.
//
// Open MPI completes a request in three steps, without a lock: (1) read the callback slot, (2) if it was set, clear it
// and call it, and stop there if the call returns 1, (3) swap `completed` into req_complete and count down the
// wait-sync object that stood there, if any. push() runs against it:
//   (a) store data and callback, (b) compare-and-swap req_complete from `pending` to the shared wait-sync `lost_sync`.
// Invariant: every pushed request is reported once, since exactly one of these holds:
//   - (1) saw the callback: the push callback marks the request completed, reports it and returns 1: no (3).
//     (b) may fail then; the slot is empty, so push() returns true;
//   - (1) saw none and (3) ran before (b): the swap in (b) fails with the callback still in its slot; push() removes
//     it and returns false;
//   - (1) saw none and (3) ran after (b): (3) counts `lost_sync` down, with the callback still in its slot. poll()
//     sees that the count differs from `lost_mark`, and search() claims every pushed request that is completed with a
//     callback in its slot. The count is reset before the search, so a loss during the search is found by the next
//     poll. The search waits for continuations that are being attached, and one thread searches at a time, so no
//     request is claimed twice.
// tests/model/openmpi_attach.pml checks this against all interleavings.
#pragma once

#include "core/base/visibility.hpp"
#include "core/engine/operation.hpp"

#if defined(OPEN_MPI)
#include "core/engine/openmpi_layout.hpp"
#include "core/mpi/calls.hpp"
#endif

namespace thence::engine {

#if defined(OPEN_MPI)

// The function that MPI calls when a pushed request completes. It passes `object` to accept_pushed() and returns 1, so
// MPI does not touch the request again.
using push_callback = int (*)(void *object);

// The wait-sync object in every pushed request until that is complete. Its count differs from `lost_mark` if MPI has
// completed a pushed request without calling back.
extern THENCE_HIDDEN openmpi::wait_sync lost_sync;
inline constexpr std::int32_t lost_mark = 1 << 30;

inline bool any_lost() noexcept {
    return lost_sync.count.load(std::memory_order_relaxed) != lost_mark;
}

extern THENCE_HIDDEN bool push_enabled; // true while the native engine is in use

// The data must be cleared before the request is released. With PML ucx, a persistent request that completes during its
// start borrows a released request, and uses the data that it finds there as its own.
inline void clear_callback(const openmpi::request_view &request) noexcept {
    request.callback().store(nullptr, std::memory_order_relaxed);
    request.callback_data().store(nullptr, std::memory_order_relaxed);
}

// Claims a completed request for which MPI has called no callback. Returns false if it was claimed before.
inline bool claim_lost(const openmpi::request_view &request) noexcept {
    if (request.callback().load(std::memory_order_acquire) == nullptr) {
        return false;
    }
    clear_callback(request);
    return true;
}

// True if `handle`, a request of MPI's own, can be pushed: it is pending, not persistent, and has no callback of MPI's
// own. Call it only if push_enabled. A null request has the fields of a complete one.
[[gnu::always_inline]] inline bool can_push(MPI_Request handle) noexcept {
    const openmpi::request_view request(handle);
    static_assert(openmpi::pending_bits == 0);
    return (request.complete_bits() | request.callback_bits()) == 0 && !request.persistent();
}

// True if `handle`, a request of MPI's own, has been pushed and is pending: another handle of the user's was attached.
// A pushed request that is complete looks like any other complete one.
inline bool is_pushed(MPI_Request handle) noexcept {
    return push_enabled && openmpi::request_view(handle).complete().load(std::memory_order_relaxed) == &lost_sync;
}

// Makes MPI call `callback` with `data` when `handle` completes. can_push() was true for it. Returns false if the
// request has completed meanwhile; then `callback` is not called. MPI may report the completion before this returns. If
// the request were released then, the swap would change another request in the same memory. So a continuation runs only
// after its phase is `attached`.
[[gnu::always_inline]] inline bool push(MPI_Request handle, push_callback callback, void *data) noexcept {
    using namespace openmpi;
    const request_view request(handle);
    request.callback_data().store(data, std::memory_order_relaxed);
    request.callback().store(reinterpret_cast<void *>(callback), std::memory_order_release);
    void *expected = pending;
    return request.complete().compare_exchange_strong(expected, &lost_sync, std::memory_order_seq_cst) ||
           !claim_lost(request);
}

// A push callback calls this first. Returns the data that was given to push(). The request is marked complete before
// its completion is reported, since the thread that runs the continuation may release the request at once.
inline void *accept_pushed(void *object) noexcept {
    const openmpi::request_view request(object);
    // MPI read the callback slot with a plain load: what was stored before the slot must not be read before it.
    std::atomic_thread_fence(std::memory_order_acquire);
    void *data = request.callback_data().load(std::memory_order_relaxed);
    request.callback_data().store(nullptr, std::memory_order_relaxed); // see clear_callback()
    request.complete().store(openmpi::completed, std::memory_order_release);
    return data;
}

inline void copy_status(const openmpi::request_view &from, MPI_Status *to) noexcept {
    if (to != MPI_STATUS_IGNORE) { // a null pointer on Open MPI
        *to = from.status();
    }
}

// True for a point-to-point operation without error. Once it is complete, only its status must be copied and the
// request released: MPI's own completion call is not needed.
inline bool is_plain(MPI_Request handle) noexcept {
    const openmpi::request_view request(handle);
    static_assert(openmpi::type_point_to_point == 0 && MPI_SUCCESS == 0);
    return (request.type() | request.status().MPI_ERROR) == 0;
}

// Takes the results of a complete pushed request if it is plain; the caller then calls release(). Returns false for any
// other, which engine::finish() handles.
inline bool try_take(MPI_Request handle, MPI_Status *status) noexcept {
    if (!is_plain(handle)) [[unlikely]] {
        return false;
    }
    copy_status(openmpi::request_view(handle), status);
    return true;
}

inline void release(MPI_Request &handle) noexcept {
    openmpi::request_view(handle).free(handle);
}

// try_take(), and release() if that is true.
inline bool try_finish(MPI_Request handle, MPI_Status *status) noexcept {
    const bool taken = try_take(handle, status);
    if (taken) {
        release(handle);
    }
    return taken;
}

// These read the request, which is MPI's and not null. They are false if the native engine is not in use.
inline bool is_complete(MPI_Request handle) noexcept {
    return push_enabled &&
           openmpi::request_view(handle).complete().load(std::memory_order_acquire) == openmpi::completed;
}

// As try_finish(), for a request of any kind. Also false if it is not complete or is persistent.
inline bool try_finish_complete(MPI_Request handle, MPI_Status *status) noexcept {
    using namespace openmpi;
    const request_view request(handle);
    if (handle == mpi::table.ompi_request_empty) {
        copy_status(request, status);
        return true;
    }
    return handle != MPI_REQUEST_NULL && request.complete().load(std::memory_order_acquire) == completed &&
           !request.persistent() && try_finish(handle, status);
}

#else

using push_callback = int (*)(void *object);
inline constexpr bool push_enabled = false;
constexpr bool any_lost() noexcept {
    return false;
}
constexpr bool can_push(MPI_Request) noexcept {
    return false;
}
constexpr bool is_pushed(MPI_Request) noexcept {
    return false;
}
inline bool push(MPI_Request, push_callback, void *) noexcept {
    return false;
}
inline void *accept_pushed(void *object) noexcept {
    return object;
}
inline bool is_plain(MPI_Request) noexcept {
    return false;
}
inline bool try_take(MPI_Request, MPI_Status *) noexcept {
    return false;
}
inline void release(MPI_Request &) noexcept {}
inline bool try_finish(MPI_Request, MPI_Status *) noexcept {
    return false;
}
inline bool is_complete(MPI_Request) noexcept {
    return false;
}
inline bool try_finish_complete(MPI_Request, MPI_Status *) noexcept {
    return false;
}

#endif

} // namespace thence::engine
