// SPDX-License-Identifier: BSD-3-Clause
// The part of Open MPI's request object that the native engine touches, without Open MPI's internal headers.
//
// The offsets are those of the 4.0 to 5.0 series on 64-bit systems in release builds. Nothing relies on them until
// prove_layout() has seen every one of them behave on live requests of the running process.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace thence::engine::openmpi {

// `request->req_complete` is one of: pending, completed, or the address of a wait-sync object.
inline void *const pending = nullptr;
inline constexpr std::uintptr_t pending_bits = 0;
// Where the library for Fortran reads the handle in Fortran of a request that a call has left alive.
inline constexpr std::size_t fortran_handle_offset = 104;
inline constexpr int state_active = 2; // `req_state` of a request that is started and whose results are not taken
inline void *const completed = reinterpret_cast<void *>(std::uintptr_t{1});

// A completion callback. If it returns 1, Open MPI does not touch the request again.
using complete_callback = int (*)(void *request);

// An object with the layout of Open MPI's wait-sync object. It counts the completions for which MPI saw no callback.
// The count is the first field. All other fields (a condition variable and a mutex, in either order) are valid as
// zeros.
struct alignas(64) wait_sync {
    std::atomic<std::int32_t> count;
    std::int32_t status;
    unsigned char opaque[504];
};

class request_view {
public:
    explicit request_view(MPI_Request request) noexcept {
        static_assert(sizeof(MPI_Request) <= sizeof base_);
        std::memcpy(&base_, &request, sizeof request);
    }
    explicit request_view(void *object) noexcept : base_(static_cast<char *>(object)) {}

    int type() const noexcept { return load<int>(56); }
    const MPI_Status &status() const noexcept { return *reinterpret_cast<const MPI_Status *>(base_ + 64); }
    std::atomic_ref<void *> complete() const noexcept { return pointer(88); }
    // Plain loads. The caller confirms the value by a compare-and-swap.
    std::uintptr_t complete_bits() const noexcept { return bits(88); }
    std::uintptr_t callback_bits() const noexcept { return bits(136); }
    int state() const noexcept { return load<int>(96); }
    bool persistent() const noexcept { return base_[100] != 0; }
    // Releases the request that `handle`, which is that of this view, names. `handle` becomes null.
    int free(MPI_Request &handle) const noexcept {
        return reinterpret_cast<int (*)(MPI_Request *)>(load<void *>(120))(&handle);
    }
    // What frees the request.
    std::atomic_ref<void *> free_slot() const noexcept { return pointer(120); }
    std::atomic_ref<void *> callback() const noexcept { return pointer(136); }
    std::atomic_ref<void *> callback_data() const noexcept { return pointer(144); }
    MPI_Request handle() const noexcept {
        MPI_Request request;
        std::memcpy(&request, &base_, sizeof request);
        return request;
    }

private:
    template <class T> T load(std::size_t offset) const noexcept {
        T value;
        std::memcpy(&value, base_ + offset, sizeof value);
        return value;
    }
    std::uintptr_t bits(std::size_t offset) const noexcept {
#if defined(__SANITIZE_THREAD__) // the fake MPI's completion is instrumented too
        return reinterpret_cast<std::uintptr_t>(pointer(offset).load(std::memory_order_relaxed));
#else
        return load<std::uintptr_t>(offset);
#endif
    }
    std::atomic_ref<void *> pointer(std::size_t offset) const noexcept {
        return std::atomic_ref<void *>(*reinterpret_cast<void **>(base_ + offset));
    }
    char *base_ = nullptr;
};

// Request types (`req_type`) whose status and release need no more than the fields above.
inline constexpr int type_point_to_point = 0;
inline constexpr int type_generalized = 2;
// The others that MPI can cancel are those of files (1) and generalized requests (2).
inline constexpr int last_cancellable_type = type_generalized;

// MPI_Cancel must not be called for other types: for the request of MPI_Comm_idup it never returns.
inline bool may_cancel(MPI_Request request, bool) noexcept {
    return request_view(request).type() <= last_cancellable_type;
}

// True if Open MPI sends its point-to-point messages through the component `ob1` of its framework `pml`. `component` is
// the description of the selected component. It has both names at known offsets.
//
// With ob1, a callback in MPI's completion path may start operations. While ob1 completes a request without error, it
// holds no lock that a new operation needs, and starts sends itself at that point. It uses the communicator afterwards,
// so the callback must not release the request. The progress function of the shared-memory transport (vader, in 5.0
// sm) returns at once if it is called again inside itself, but only if MPI has threads.
inline bool uses_ob1(const char *component) noexcept {
    constexpr std::size_t framework = 40;
    constexpr std::size_t name = 84;
    return component != nullptr && std::memcmp(component + framework, "pml", sizeof "pml") == 0 &&
           std::memcmp(component + name, "ob1", sizeof "ob1") == 0;
}

// Returns null if every field behaves as described, else one sentence that says which did not.
const char *prove_layout() noexcept;
// The same for the fields that are read and the one that frees a request.
const char *prove_fields() noexcept;

} // namespace thence::engine::openmpi
