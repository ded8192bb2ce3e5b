// SPDX-License-Identifier: BSD-3-Clause
// The steps of running one continuation: take the results of its operations, call the callback, note a failure, release
// the request and the objects. run.cpp has the common case inline. run_general() does every case.
#pragma once

#include "continuation/continuation.hpp"
#include "continuation/thread_state.hpp"
#include "progress/interposed.hpp"

#include <thence/thence.h>

namespace thence::continuation {

// The word in which running_scope counts running callbacks. It is progress::slow_path_reasons if interposed calls must
// know of them, since threads that wait in MPI rely on each other (see mpi/calls.hpp). Else it is a word that is never
// read, so that running_scope needs no branch.
extern THENCE_HIDDEN std::atomic<std::uint64_t> *callback_count;
extern THENCE_HIDDEN std::atomic<std::uint64_t> unread_count;

// Marks that this thread runs continuations. The thread was free to run.
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

// Calls the callback with `error`, the first error of the operations. Returns the callback's result.
int invoke(const continuation &c, signature form, int error) noexcept;

// Counts a failure. `error`: the first error of the operations. `result`: the result of the callback.
__attribute__((noinline)) void note_failure(const continuation &c, int error, int result) noexcept;

// Runs a continuation of any kind and releases its requests and its group. The caller gives back the object and the
// CR's reference. `kind`: the control word that take_control() returned. The thread is in a running_scope.
__attribute__((noinline)) void run_general(continuation &c, control_word kind) noexcept;

// Runs a continuation inside attach(): all operations are complete and its phase is not yet `attached`. Gives it back.
void run_now(continuation &c) noexcept;

// Gives back a continuation that will not run.
void discard(continuation &c) noexcept;

} // namespace thence::continuation
