// SPDX-License-Identifier: BSD-3-Clause
// A request of the fake MPI: the members of Open MPI's requests at Open MPI's offsets, and members for the tests.
//
// Invariant: the memory of all requests is one arena that is never unmapped, so an invalid or stale handle is
// recognized and never crashes the fake. A released request stays in a queue for a while before its memory is used
// again (quarantine). Meanwhile, with the address sanitizer, the part that Open MPI also has is poisoned. If several
// completions of one operation race, `ticket` (generation and a done bit) decides which one takes place.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <type_traits>

namespace thence::fake {

// As Open MPI's `req_type`.
enum class kind : int { point_to_point = 0, io = 1, generalized = 2, rma = 3, collective = 4 };

enum class life : int { never_used, inactive, active, released };

inline void *const not_complete = nullptr;
inline void *const is_complete = reinterpret_cast<void *>(std::uintptr_t{1});

struct alignas(64) request {
    // As in Open MPI.
    unsigned char object_header[56];
    alignas(8) int type;
    alignas(8) unsigned char status[24]; // an MPI_Status, with the header of Open MPI
    std::atomic<void *> complete{not_complete};
    int state;
    bool persistent;
    unsigned char gap[19];
    int (*free_function)(void **);
    void *cancel_function;
    std::atomic<void *> callback{nullptr};
    std::atomic<void *> callback_data{nullptr};

    // For the fake only.
    alignas(64) std::atomic<life> now{life::never_used};
    std::atomic<std::uint64_t> ticket{0};       // 2 * generation + 1 once completion has begun
    std::atomic<const char *> in_call{nullptr}; // the completing MPI call that it is in
    std::mutex freeing;      // held while it becomes complete and while it is freed: the second of the two releases it
    bool user_freed = false; // MPI_Request_free was called while it was not complete
    kind what = kind::point_to_point;
    bool is_persistent = false;
    MPI_Status result{};
    int error = MPI_SUCCESS;
    // The functions of a generalized request, and their data. Null: the test completes it.
    MPI_Grequest_query_function *query = nullptr;
    MPI_Grequest_free_function *free_data = nullptr;
    MPI_Grequest_cancel_function *cancel = nullptr;
    void *extra_state = nullptr;
    // The arguments of a receive that messages can match.
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
// Null if the handle is not a request of the fake.
request *find_request(MPI_Request handle) noexcept;
inline request *from_object(void *object) noexcept {
    return static_cast<request *>(object);
}

// Memory of requests. After its release the memory of a request is used again only when `how_many` others have been
// released; 0, as in MPIs: at once.
void set_quarantine(std::size_t how_many);
request &take_request();
void give_request(request &q);
// The number of requests that are taken and not given back.
std::size_t requests_in_use() noexcept;

// Fails the running test: a request was used in a way that MPI or this test forbids.
void misuse(const char *call, const request *q, const char *what);
// Ends the process, where the test cannot go on.
[[noreturn]] void abort_test(const char *call, const char *what);

// Marks a request as being in a completing call. Two at a time are an error of the caller.
class completing_call {
public:
    completing_call(request &q, const char *call) noexcept;
    ~completing_call();
    completing_call(const completing_call &) = delete;
    completing_call &operator=(const completing_call &) = delete;

private:
    request *q_;
};

} // namespace thence::fake
