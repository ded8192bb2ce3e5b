// SPDX-License-Identifier: BSD-3-Clause
// THENCE_REPORT: how long the MPI calls of a program last, and which of its nonblocking operations complete while it
// computes. A program computes while it is in no interposed call.
//
// Each operation that is not complete when its start returns has a record until a call completes it. The record says
// how long the starting thread had computed by then. So the call that completes the operation knows for how long the
// program has computed in between: for that long the operation could have moved without anybody waiting for it.
#pragma once

#include "core/base/visibility.hpp"
#include "core/progress/plain_operations.hpp"

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace thence::interpose {

// What a call does with its time. A call that waits for several operations counts as one.
enum class call_kind { starts, tests, waits, blocks };

// The sums of one process. Times are in nanoseconds, and summed over its threads.
struct measured_figures {
    std::int64_t starting_and_testing;   // in calls that start or test operations
    std::int64_t blocking;               // in blocking calls without a request
    std::int64_t waiting;                // in calls that wait for operations with requests
    std::int64_t waiting_after_computed; // of this, no longer than the computation since the start of the operation
    std::int64_t operations;             // that were started
    std::int64_t bytes;                  // of these, as far as their arguments tell
    std::int64_t early_operations;       // were complete when a call asked for them after a computation
    std::int64_t early_bytes;
};
THENCE_INTERNAL measured_figures read_measured() noexcept;
THENCE_INTERNAL void reset_measured() noexcept;

// A call of the program lasts. If calls are not measured, it does nothing. Of nested ones the outermost counts; it
// waits if a blocking one is inside.
class timed_call {
public:
    explicit timed_call(call_kind kind) noexcept : measured_(progress::measures_calls()) {
        if (measured_) [[unlikely]] {
            begin(kind);
        }
    }
    ~timed_call() {
        if (measured_) [[unlikely]] {
            end();
        }
    }
    timed_call(const timed_call &) = delete;
    timed_call &operator=(const timed_call &) = delete;

private:
    THENCE_INTERNAL static void begin(call_kind kind) noexcept;
    THENCE_INTERNAL static void end() noexcept;

    bool measured_;
};

// After an operation was started. Call it only while calls are measured, inside a timed call. `bytes`: what it
// transfers; below 0 if it is none of MPI's own.
THENCE_INTERNAL void measure_start(MPI_Request request, std::int64_t bytes) noexcept;
// Its request was freed, so no call will complete it.
THENCE_INTERNAL void measure_freed(MPI_Request request) noexcept;

// A call that completes requests lasts. It is made inside a timed call.
class measured_completion {
public:
    // Null unless calls are measured, or if there is no memory.
    static std::unique_ptr<measured_completion> begin(int count, const MPI_Request requests[]) noexcept {
        return progress::measures_calls() ? make(count, requests) : nullptr;
    }
    // The operation of entry `i` has ended, although its request has not become null.
    THENCE_INTERNAL void ended(int i) noexcept;
    // The call ends. Entries that have become null have ended.
    THENCE_INTERNAL void end(const MPI_Request requests[]) noexcept;

private:
    struct entry {
        MPI_Request request;
        bool complete; // at the beginning
        bool ended = false;
    };
    THENCE_INTERNAL static std::unique_ptr<measured_completion> make(int count, const MPI_Request requests[]) noexcept;

    std::vector<entry> entries_;
    std::int64_t begun_ = 0;
    std::int64_t computed_ = 0; // by this thread until then
};

} // namespace thence::interpose
