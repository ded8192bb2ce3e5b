// SPDX-License-Identifier: BSD-3-Clause
// Binding operations to the calling task.
//
// A call with one run of requests ends in a tail call of thence_task_attach(). Reports name the line to which that
// returns, which is then a line of the user's.
#include "tasks/tampi/tampi.hpp"

#include <TAMPI.h>
#include <thence/task_runtime.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

using namespace thence::tampi;

namespace {

bool all_are_bound() noexcept {
    return nonblocking.load(std::memory_order_acquire) && !left_a_request.load(std::memory_order_relaxed);
}

// The calling task if operations can be bound to it, else null.
const thence_task *task_with_events() noexcept {
    return nonblocking.load(std::memory_order_acquire) ? thence_task_with_events() : nullptr;
}

MPI_Status *status_at(MPI_Status statuses[], int i) noexcept {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUSES_IGNORE : statuses + i;
}

// Calls `complete` for each run of requests that are not null. Returns the first error.
template <class Complete> int for_each_run(int count, MPI_Request requests[], Complete complete) {
    int result = MPI_SUCCESS;
    for (int i = 0; i < count;) {
        const int begin = i;
        while (i < count && requests[i] != MPI_REQUEST_NULL) {
            ++i;
        }
        if (i != begin) {
            const int code = complete(begin, i - begin);
            result = result == MPI_SUCCESS ? code : result;
        } else {
            ++i;
        }
    }
    return result;
}

// True if the call may pass the whole array on: nothing of it is ignored, or MPI or Thence will refuse it.
bool is_one_run(int count, const MPI_Request requests[], const MPI_Status statuses[]) noexcept {
    return count < 0 || requests == nullptr || statuses == MPI_STATUSES_IGNORE ||
           std::find(requests, requests + count, MPI_REQUEST_NULL) == requests + count;
}

struct copies {
    int first;
    int second;
};

// MPI gives operations that are complete at once, such as a send to MPI_PROC_NULL, one request that they share. Only a
// request that is pending cannot stand twice in an array by right.
bool is_pending(MPI_Request request) noexcept {
    int complete = 1;
    return MPI_Request_get_status(request, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && complete == 0;
}

// Compares each request with each.
std::optional<copies> compare_all(int count, const MPI_Request requests[]) noexcept {
    for (int i = 1; i < count; ++i) {
        const MPI_Request *const found = std::find(requests, requests + i, requests[i]);
        if (found != requests + i && requests[i] != MPI_REQUEST_NULL && is_pending(requests[i])) {
            return copies{static_cast<int>(found - requests), i};
        }
    }
    return std::nullopt;
}

std::size_t hash(MPI_Request request) noexcept {
    std::uint64_t bits = 0;
    static_assert(sizeof request <= sizeof bits);
    std::memcpy(&bits, &request, sizeof request);
    return static_cast<std::size_t>((bits * 0x9E3779B97F4A7C15U) >> 32);
}

// The same, with a table of indices by request. `size`: a power of two, more than `count`.
std::optional<copies> look_up_all(int count, const MPI_Request requests[], int table[], std::size_t size) noexcept {
    constexpr int none = -1;
    std::fill_n(table, size, none);
    for (int i = 0; i < count; ++i) {
        const MPI_Request each = requests[i];
        if (each == MPI_REQUEST_NULL) {
            continue;
        }
        std::size_t slot = hash(each) & (size - 1);
        while (table[slot] != none && requests[table[slot]] != each) {
            slot = (slot + 1) & (size - 1);
        }
        if (table[slot] != none && is_pending(each)) {
            return copies{table[slot], i};
        }
        table[slot] = i;
    }
    return std::nullopt;
}

// The indices of a pending request that stands twice in the array. To bind it twice would release it twice.
std::optional<copies> find_copies(int count, const MPI_Request requests[]) noexcept {
    constexpr int few = 8;
    constexpr int many = 512; // a table for more is not on the stack
    if (count <= few) {
        return compare_all(count, requests);
    }
    const std::size_t size = 2 * std::bit_ceil(static_cast<std::size_t>(count));
    if (count <= many) {
        std::array<int, std::size_t{2} * many> table; // look_up_all() sets what it uses
        return look_up_all(count, requests, table.data(), size);
    }
    const std::unique_ptr<int[]> table(new (std::nothrow) int[size]);
    return table == nullptr ? compare_all(count, requests) : look_up_all(count, requests, table.get(), size);
}

int wait_for_all(int count, MPI_Request requests[], MPI_Status statuses[]) {
    if (is_one_run(count, requests, statuses)) {
        return MPI_Waitall(count, requests, statuses);
    }
    return for_each_run(count, requests,
                        [&](int i, int n) { return MPI_Waitall(n, requests + i, status_at(statuses, i)); });
}

} // namespace

extern "C" {

int TAMPI_Iwait(MPI_Request *request, MPI_Status *status) {
    if (request == nullptr) {
        return fail("TAMPI_Iwait", thence::api::reason::null_request);
    }
    if (*request == MPI_REQUEST_NULL) {
        return MPI_SUCCESS;
    }
    const thence_task *self = task_with_events();
    if (self == nullptr) {
        return MPI_Wait(request, status);
    }
    return thence_task_attach(1, request, 0, status, self, requests_of_tasks);
}

int TAMPI_Iwaitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    if (count < 0) {
        return fail("TAMPI_Iwaitall", {MPI_ERR_ARG, "count is negative"});
    }
    if (requests == nullptr && count != 0) {
        return fail("TAMPI_Iwaitall", {MPI_ERR_ARG, "requests is null and count is not 0"});
    }
    const thence_task *self = task_with_events();
    if (self == nullptr) {
        return wait_for_all(count, requests, statuses);
    }
    if (const std::optional<copies> same = find_copies(count, requests)) {
        std::array<char, 80> text{};
        std::snprintf(text.data(), text.size(), "requests[%d] and requests[%d] are the same request", same->first,
                      same->second);
        return fail("TAMPI_Iwaitall", {MPI_ERR_REQUEST, text.data()});
    }
    if (is_one_run(count, requests, statuses)) {
        return thence_task_attach(count, requests, 0, statuses, self, requests_of_tasks);
    }
    const thence_task owner = *self; // an error handler between two runs may overwrite it
    return for_each_run(count, requests, [&](int i, int n) {
        return thence_task_attach(n, requests + i, 0, status_at(statuses, i), &owner, requests_of_tasks);
    });
}

int TAMPI_Wait(MPI_Request *request, MPI_Status *status) {
    const bool done = all_are_bound() || (request != nullptr && *request == MPI_REQUEST_NULL);
    return done ? int{MPI_SUCCESS} : MPI_Wait(request, status);
}

int TAMPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    return all_are_bound() ? int{MPI_SUCCESS} : wait_for_all(count, requests, statuses);
}

int thence_tampi_bind_(int code, MPI_Request *request, MPI_Status *status) {
    if (code != MPI_SUCCESS || request == nullptr || *request == MPI_REQUEST_NULL) {
        return code;
    }
    const thence_task *self = task_with_events();
    if (self == nullptr) {
        left_a_request.store(true, std::memory_order_relaxed);
        return MPI_SUCCESS;
    }
    return thence_task_attach(1, request, 0, status, self, requests_of_tasks);
}

int thence_tampi_bind_or_wait_(int code, MPI_Request *request, MPI_Status *status) {
    return code != MPI_SUCCESS ? code : TAMPI_Iwait(request, status);
}

} // extern "C"
