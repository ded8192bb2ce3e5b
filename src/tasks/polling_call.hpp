// SPDX-License-Identifier: BSD-3-Clause
// Calls of tasks that wait by tests, since no continuation can wait for them: a probe, one of several requests, a
// persistent request. They are listed for reports, and MPI_Finalize stops them.
//
// Invariant: a listed call is in MPI, or runs callbacks, only between enter_mpi() and leave_mpi(). After close() has
// returned, none is there, and none comes in again: its task stays blocked.
#pragma once

#include "core/base/visibility.hpp"
#include "core/progress/backoff.hpp"

#include <thence/task_runtime.h>

#include <cstdint>

namespace thence::task {

// It lies on the stack of the task.
struct polling_call {
    // `called`: the function, or null. `return_address`: in the code of the user.
    polling_call(const char *called, const void *return_address) noexcept : name(called), where(return_address) {}
    ~polling_call() {
        if (is_listed()) [[unlikely]] {
            unlist();
        }
        if (ends != nullptr) [[unlikely]] {
            ends(*this);
        }
    }
    polling_call &operator=(polling_call &&) = delete;

    bool is_listed() const noexcept { return task.runtime != nullptr; }

    // Lists the call, and enters MPI. The destructor leaves it.
    void list(const thence_task &waits) noexcept;
    // Does not return after close(): the task stays blocked for ever.
    void enter_mpi() const noexcept;
    static void leave_mpi() noexcept;

    const char *name;
    const void *where;
    unsigned turns = 0; // tests so far
    thence_backoff backoff = progress::backoff_with(100'000, 1000);
    // Called when the call ends, if whoever waits has set it.
    void (*ends)(const polling_call &call) noexcept = nullptr;
    thence_task task{};           // set while it is listed, as the others below
    std::uint32_t since = 0;      // coarse milliseconds
    polling_call *next = nullptr; // was listed later
    polling_call *previous = nullptr;

private:
    THENCE_INTERNAL void unlist() noexcept;
};

// False after close(): who polls for a task must not go on.
bool try_enter_mpi() noexcept;

// No call enters MPI before open_polling_calls(). Waits until all have left.
void close_polling_calls() noexcept;
// To be called before the first try_enter_mpi(): the end of the library closes them.
void close_polling_calls_at_finalize() noexcept;
void open_polling_calls() noexcept;

// What reports need: how many are listed, how many have ended, and each, the oldest first. `visit` must not wait for a
// task.
struct polling_counts {
    long listed;
    std::uint64_t ended;
};
polling_counts count_polling_calls() noexcept;
void for_each_polling_call(void (*visit)(const polling_call &call, void *data), void *data);

} // namespace thence::task
