// SPDX-License-Identifier: BSD-3-Clause
// A request of the fake MPI: what Open MPI keeps of one, at Open MPI's offsets, and what a test wants to know besides.
//
// Invariant: a request's memory is in one arena and never unmapped, so a bad or stale handle is recognized and never
// crashes the fake itself. A released request rests in a queue before its memory is used again; under the address
// sanitizer the part that Open MPI lays out is poisoned meanwhile. `ticket` (generation and a done bit) decides which
// of several racing completions of one operation takes place.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace thence::fake {

// As Open MPI's `req_type`.
enum class kind : int { point_to_point = 0, io = 1, generalized = 2, rma = 3, collective = 4 };

enum class life : int { never_used, inactive, active, released };

inline void *const not_complete = nullptr;
inline void *const is_complete = reinterpret_cast<void *>(std::uintptr_t{1});

struct alignas(64) request {
    // As Open MPI lays it out.
    unsigned char object_header[56];
    alignas(8) int type;
    alignas(8) unsigned char status[24]; // an MPI_Status, where that is Open MPI's
    std::atomic<void *> complete{not_complete};
    int state;
    bool persistent;
    unsigned char gap[19];
    int (*free_function)(void **);
    void *cancel_function;
    std::atomic<void *> callback{nullptr};
    std::atomic<void *> callback_data{nullptr};

    // The fake's own.
    alignas(64) std::atomic<life> now{life::never_used};
    std::atomic<std::uint64_t> ticket{0};       // 2 * generation + 1 once completion has begun
    std::atomic<const char *> in_call{nullptr}; // the completing MPI call that looks at it
    std::atomic<bool> user_freed{false};        // MPI_Request_free was called while active
    kind what = kind::point_to_point;
    bool is_persistent = false;
    MPI_Status result{};
    int error = MPI_SUCCESS;
    // Of a receive that messages match.
    void *buffer = nullptr;
    int bytes = 0;
    int tag = 0;
    MPI_Comm comm = MPI_COMM_NULL;
};
static_assert(offsetof(request, type) == 56 && offsetof(request, status) == 64 && offsetof(request, complete) == 88);
static_assert(offsetof(request, state) == 96 && offsetof(request, persistent) == 100);
static_assert(offsetof(request, free_function) == 120 && offsetof(request, callback) == 136);
static_assert(offsetof(request, callback_data) == 144);

inline constexpr std::size_t laid_out_bytes = offsetof(request, callback_data) + sizeof(void *);
inline constexpr std::size_t most_requests = std::size_t{1} << 20;

// Handles are pointers (Open MPI, the standard ABI) or integers (MPICH).
template <class Handle> Handle make_handle(std::uintptr_t value) noexcept {
    if constexpr (std::is_integral_v<Handle>) {
        return static_cast<Handle>(value);
    } else {
        return reinterpret_cast<Handle>(value);
    }
}
template <class Handle> std::uintptr_t value_of(Handle handle) noexcept {
    if constexpr (std::is_integral_v<Handle>) {
        return static_cast<std::uint32_t>(handle);
    } else {
        return reinterpret_cast<std::uintptr_t>(handle);
    }
}

MPI_Request handle_of(const request &q) noexcept;
// Null if the handle is none of the fake's.
request *find_request(MPI_Request handle) noexcept;
inline request *from_object(void *object) noexcept {
    return static_cast<request *>(object);
}

// Memory of requests. let_rest() says how many others are released before one's memory is used again: 0 is what MPIs
// do.
void let_rest(std::size_t how_many);
request &take_request();
void give_request(request &q);
// How many are taken and not given back.
std::size_t requests_in_use() noexcept;

// A request was used in a way that MPI forbids, or that this test forbids: the running test fails.
void misuse(const char *call, const request *q, const char *what);
[[noreturn]] void hopeless(const char *call, const char *what);

// Says that a completing call looks at a request; two at once are an error of the caller.
class looking {
public:
    looking(request &q, const char *call) noexcept;
    ~looking();
    looking(const looking &) = delete;
    looking &operator=(const looking &) = delete;

private:
    request *q_;
};

} // namespace thence::fake
