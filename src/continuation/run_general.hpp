// SPDX-License-Identifier: BSD-3-Clause
// The steps of running one continuation: take the results of its operations, call the callback, note a failure, give
// everything back. run.cpp has the common case inline; run_general() does every case.
#pragma once

#include "continuation/continuation.hpp"
#include "continuation/thread_state.hpp"
#include "progress/interposed.hpp"

#include <thence/thence.h>

namespace thence::continuation {

// Where running_scope counts: progress::slow_path_reasons if interposed calls have to know of callbacks that run, since
// threads that wait in MPI rely on each other (see mpi/calls.hpp). Else a word that nobody reads: that saves the
// question.
extern THENCE_HIDDEN std::atomic<std::uint64_t> *callback_count;
extern THENCE_HIDDEN std::atomic<std::uint64_t> unread_count;

// This thread, which is free to, runs continuations.
class running_scope {
public:
    running_scope() noexcept {
        callback_count->fetch_add(progress::callback_runs, std::memory_order_relaxed);
        this_thread.busy += thread_state::running_mark + 1;
    }
    ~running_scope() {
        this_thread.busy -= thread_state::running_mark + 1;
        callback_count->fetch_sub(progress::callback_runs, std::memory_order_relaxed);
    }
    running_scope(const running_scope &) = delete;
    running_scope &operator=(const running_scope &) = delete;
};

// Takes the results of all operations; returns the first error.
int settle(continuation &c, control_word kind) noexcept;

// Calls the callback. `error`: of the operations.
int invoke(const continuation &c, signature form, int error) noexcept;

// `error`: of the operations. `result`: of the callback.
__attribute__((noinline)) void note_failure(const continuation &c, int error, int result) noexcept;

// Runs a continuation of any kind, and gives back all but the object itself and its CR's reference. `kind` is what
// take_control() found. The thread is in a running_scope.
__attribute__((noinline)) void run_general(continuation &c, control_word kind) noexcept;

// Runs one that is complete and not attached yet, from inside attach(), and gives it back.
void run_now(continuation &c) noexcept;

// Gives back one that will not run.
void discard(continuation &c) noexcept;

} // namespace thence::continuation
