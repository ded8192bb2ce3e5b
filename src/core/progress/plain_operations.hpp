// SPDX-License-Identifier: BSD-3-Clause
// Operations of a program that has no continuations for them. With THENCE_PROGRESS=always the helper thread makes
// progress for them while the program computes. So interposed calls count what is outstanding, and say when a thread is
// in MPI, which makes progress by itself then. As soon as the program uses Thence itself, its operations are no longer
// counted, since continuations complete some of them. From then on the helper makes progress for continuations as they
// need it, and looks from time to time for whatever else the program has started, as it does for windows. With
// THENCE_REPORT the calls are measured, too (interpose/requests/measured.hpp).
//
// Invariant: the helper does not rest while an operation or a window is counted, or it has to look. Operations: see
// call_counts.hpp. A thread that creates a window counts it, and one that uses Thence changes `observed`; then it reads
// `helper_rests`. The helper sets `helper_rests`, then reads the other. All of this is sequentially consistent, so one
// of them sees the other.
#pragma once

#include "core/base/visibility.hpp"
#include "core/progress/call_counts.hpp"
#include "core/progress/interposed.hpp"

#include <atomic>
#include <cstdint>

namespace thence::progress {

inline constexpr unsigned for_helper = 1;
inline constexpr unsigned for_report = 2;
inline constexpr unsigned for_stalls = 8; // calls that block are listed (core/diagnose/blocked_calls.hpp)
inline constexpr unsigned for_trace =
    16; // calls, and what the helper does, are recorded (core/diagnose/traced_calls.hpp)
// For the helper, in a program that uses Thence itself: whether a thread is in MPI, and windows, but no operations.
inline constexpr unsigned for_looks = 4;

struct plain_operations {
    std::atomic<unsigned> observed{0};     // why: bits such as `for_helper`
    std::atomic<bool> in_mpi{true};        // false: blocking calls leave the processor where they can
    std::atomic<long> windows{0};          // that other ranks may access at any time
    std::atomic<bool> helper_rests{false}; // it must be woken
    std::atomic<long> open_files{0};       // while not 0, the helper makes no progress for the program
    std::atomic<std::int64_t> stopped{0};  // when calls were observed for the last time
};
extern THENCE_INTERNAL plain_operations plain;

// Whether interposed calls count.
inline bool observes_calls() noexcept {
    return plain.observed.load(std::memory_order_relaxed) != 0;
}
// Whether operations are counted for the helper thread.
inline bool counts_operations() noexcept {
    return (plain.observed.load(std::memory_order_relaxed) & for_helper) != 0;
}
// Whether the helper makes progress for a program that uses Thence itself, whose operations are not counted.
inline bool looks_for_operations() noexcept {
    return (plain.observed.load(std::memory_order_relaxed) & for_looks) != 0;
}
// Whether the helper watches the program.
inline bool helps_program() noexcept {
    return (plain.observed.load(std::memory_order_relaxed) & (for_helper | for_looks)) != 0;
}
// Whether calls are observed, and the program has not used Thence itself.
inline bool observes_unchanged_program() noexcept {
    return (plain.observed.load(std::memory_order_relaxed) & (for_helper | for_report | for_stalls | for_trace)) != 0;
}
// Whether calls that block are listed.
inline bool lists_calls() noexcept {
    return (plain.observed.load(std::memory_order_relaxed) & for_stalls) != 0;
}
// Whether they do so for the report.
inline bool measures_calls() noexcept {
    return (plain.observed.load(std::memory_order_relaxed) & for_report) != 0;
}
// Whether they are recorded for the timeline.
inline bool traces_calls() noexcept {
    return (plain.observed.load(std::memory_order_relaxed) & for_trace) != 0;
}
inline bool times_calls() noexcept {
    return (plain.observed.load(std::memory_order_relaxed) & (for_report | for_trace)) != 0;
}

THENCE_INTERNAL void wake_helper_for_operations() noexcept;

// The program has called MPI.
inline void note_call() noexcept {
    own_call_counts().calls.fetch_add(call_counts::one_call, std::memory_order_relaxed);
}

// Called after an operation has been started. @return whether wake_helper_for_operations() must follow.
[[nodiscard]] inline bool count_operation() noexcept {
    return ++own_call_counts().begun < 0; // which is one instruction and a test of the sign
}
inline void operation_started() noexcept {
    if (!looks_for_operations() && count_operation()) [[unlikely]] {
        wake_helper_for_operations();
    }
}
// Called after the program has completed or freed requests.
THENCE_INTERNAL void operation_ended_elsewhere() noexcept;
inline void operations_ended(long count) noexcept {
    call_counts &own = own_call_counts();
    for (; count > 0; --count) {
        if (!own.end_one()) [[unlikely]] {
            operation_ended_elsewhere();
        }
    }
}
// How many have begun and not ended, at some time during this call.
THENCE_INTERNAL long operations_outstanding() noexcept;

// After a window was created that other ranks may access at any time, and after it was freed.
THENCE_INTERNAL void window_created() noexcept;
THENCE_INTERNAL void window_freed() noexcept;

// Before a file is opened, and after it was closed: where mpi::files_forbid_other_threads(), these call the next two.
THENCE_INTERNAL void file_opens() noexcept;
THENCE_INTERNAL void file_closed() noexcept;
// Invariant: the helper reads the count of open files while it shares `helper_in_progress`, and makes no progress for
// the program if it is not 0. keep_helper_out() adds to it, then has that lock alone once. So the helper is not in MPI
// for the program after that.
THENCE_INTERNAL void keep_helper_out() noexcept;
THENCE_INTERNAL void let_helper_in() noexcept;
inline bool helper_is_kept_out() noexcept {
    return plain.open_files.load(std::memory_order_seq_cst) != 0;
}
// For how long in all.
THENCE_INTERNAL std::int64_t helper_was_kept_out() noexcept;

// Where a call that may block waits: `as_set` is inside MPI, but with THENCE_WAIT outside of it.
enum class waits { as_set, inside_mpi };

// A call that may block lasts. While it waits inside MPI, it makes progress by itself, so it counts. One that leaves
// the processor does not count: the helper makes progress while it sleeps. It may end on another thread, where a task
// has been suspended.
class blocking_call {
public:
    explicit blocking_call(waits where = waits::as_set) noexcept
        : counts_(observes_calls() && (where == waits::inside_mpi || plain.in_mpi.load(std::memory_order_relaxed))
                      ? &own_call_counts()
                      : nullptr) {
        if (counts_ != nullptr) {
            begin();
        }
    }
    // Where it is known that calls are observed.
    explicit blocking_call(call_counts &own) noexcept : counts_(&own) { begin(); }
    ~blocking_call() {
        if (counts_ != nullptr) {
            counts_->calls.fetch_add(call_counts::one_call - 1, std::memory_order_release);
        }
    }
    blocking_call(const blocking_call &) = delete;
    blocking_call &operator=(const blocking_call &) = delete;

private:
    void begin() noexcept { counts_->calls.fetch_add(1, std::memory_order_relaxed); }

    call_counts *counts_; // null: it does not count
};

// Begins to count, and starts the helper thread. Returns null, or why there can be no helper. The library is set up.
const char *count_operations() noexcept;
// Begins to count for the report. The library is set up.
void measure_calls() noexcept;
// Begins to list calls that block. The library is set up.
void list_calls() noexcept;
// Begins to record calls. The library is set up.
void trace_calls() noexcept;
// When the program uses Thence itself. Any thread may call it, any number of times.
void program_uses_thence() noexcept;
// At MPI_Finalize. As before.
void stop_observing_calls() noexcept;

// A thread may be about to count one when counting stops.
inline bool any_plain_operation() noexcept {
    return operations_outstanding() != 0 && counts_operations();
}

// For the helper. True: it rests, until somebody wakes it. False: something is outstanding.
bool begin_helper_rest() noexcept;
void end_helper_rest() noexcept;

// Whether the helper has to look from time to time although nothing is counted.
inline bool must_look() noexcept {
    return (plain.observed.load(std::memory_order_seq_cst) & for_looks) != 0 ||
           (plain.windows.load(std::memory_order_seq_cst) != 0 && counts_operations());
}

// What the helper sees of the program when it looks.
class program_watch {
public:
    void look() noexcept;
    // It has been outside of MPI for a while, so the helper should make progress for it.
    bool computes() const noexcept { return !blocked_ && quiet_ >= computes_after; }
    // Something is outstanding, and it is in no call that may block.
    bool may_compute() const noexcept { return outstanding_ && !blocked_; }
    // Nothing is outstanding, it has begun and ended no call for a while, and there is nothing to look for.
    bool is_done() const noexcept { return !outstanding_ && !must_look_ && quiet_ >= done_after; }
    bool outstanding() const noexcept { return outstanding_; }
    // Other ranks may access its memory at any time, or it may have operations that are not counted.
    bool must_look() const noexcept { return must_look_; }
    // It computed at the look before this one.
    bool has_just_called() const noexcept { return computed_ && !computes(); }

private:
    // A program that has made a call a shorter time ago may make the next one.
    static constexpr std::int64_t computes_after = 20'000;
    // To wake a helper that rests costs the program some microseconds.
    static constexpr std::int64_t done_after = 10'000'000;

    std::uint64_t calls_ = 0;
    std::int64_t called_ = 0; // when the number of calls had changed, which a blocking call does when it ends
    std::int64_t quiet_ = 0;  // the time since then
    bool blocked_ = false;
    bool outstanding_ = false;
    bool must_look_ = false;
    bool computed_ = false;
};

} // namespace thence::progress
