// SPDX-License-Identifier: BSD-3-Clause
// THENCE_REPORT: how long the MPI calls of a program last, and which of its nonblocking operations complete while it
// computes. A program computes while it is in no call that is measured; docs/guide/unchanged.md lists those that are
// not.
//
// Of each operation that is not complete when its start returns, known_requests.hpp knows how long the starting thread
// had computed by then. So the call that completes the operation knows for how long the program has computed in
// between: for that long the operation could have moved without anybody waiting for it.
#pragma once

#include "core/base/visibility.hpp"
#include "core/diagnose/blocked_calls.hpp"
#include "core/progress/plain_operations.hpp"
#include "interpose/requests/known_requests.hpp"

#include <mpi.h>

#include <cstdint>

namespace thence::interpose {

using diagnose::described_call;

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

// A call of the program lasts. If calls are neither measured nor traced, it does nothing. Of nested ones the outermost
// counts; it waits if a blocking one is inside.
class timed_call {
public:
    timed_call(const char *name, call_kind kind) noexcept : timed_(progress::times_calls()) {
        if (timed_) [[unlikely]] {
            begin({.name = name, .where = nullptr}, kind);
        }
    }
    // One that blocks.
    explicit timed_call(const described_call &call) noexcept : timed_(progress::times_calls()) {
        if (timed_) [[unlikely]] {
            begin(call, call_kind::blocks);
        }
    }
    ~timed_call() {
        if (timed_) [[unlikely]] {
            end();
        }
    }
    timed_call(const timed_call &) = delete;
    timed_call &operator=(const timed_call &) = delete;

private:
    THENCE_INTERNAL static void begin(const described_call &call, call_kind kind) noexcept;
    THENCE_INTERNAL static void end() noexcept;

    bool timed_;
};

// After an operation was started. Call it only while calls are measured, inside a timed call. `bytes`: what it
// transfers; below 0 if it is none of MPI's own. The result has no thread if the operation is complete already, or not
// measured, or if nobody may ask for its state: `on_file`, see mpi::asking_breaks_file_requests().
measured_start measure_start(MPI_Request request, std::int64_t bytes, bool on_file) noexcept;

// A call that completes operations. It is made inside a timed call.
class measured_call {
public:
    measured_call() noexcept;
    // Asked before MPI is called. The question may make progress (engine/is_complete.hpp): then what it has moved was
    // not complete.
    static bool is_complete(MPI_Request request) noexcept;
    // The call has completed an operation that was started so.
    void ended(const measured_start &start, bool was_complete) noexcept;
    // It has done so for all.
    void finish() noexcept;

private:
    std::uint64_t thread_ = 0; // 0: calls of this thread are not measured
    std::int64_t begun_ = 0;
    std::int64_t computed_ = 0;    // by this thread until then
    std::int64_t could_move_ = -1; // since the start of the operation that was started last
};

} // namespace thence::interpose
