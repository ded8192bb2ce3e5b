// SPDX-License-Identifier: BSD-3-Clause
// Running continuations: on which thread, when, and how many. The continuation layer is also a source of progress.
//
// Rules: no continuation runs while this thread is busy (in a callback, in an attaching call, in a poll). So none runs
// inside another, and none inside thence_attach(). In MPI's own completion path, a continuation runs only if its CR
// allows that (THENCE_CR_IN_COMPLETION). Poll-only continuations run only in a test of their CR. The helper thread runs
// only continuations of CRs that allow any thread.
#pragma once

#include "core/continuation/request.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/progress/backoff.hpp"
#include "core/progress/interposed.hpp"
#include "core/progress/source.hpp"

namespace thence::continuation {

// The continuation layer, as hook, helper and waiting calls see it.
extern const progress::source as_source;

// True if continuations may be ready that may run outside a test of their CR.
inline bool any_ready() noexcept {
    return !application_queue.empty() || !any_thread_queue.empty();
}
// The same, or a poll may find completions.
bool something_to_do() noexcept;

// Runs at most `limit` ready continuations that may run outside a test, without making progress.
long run_ready(long limit) noexcept;
// The same, and first the continuations that run only in a test of `cr`. Runs at most max_poll of `cr`.
long run_own(continuation_request &cr) noexcept;

// One round: lets MPI make progress, polls all sources, runs what is ready in them. Returns how much ran in all
// sources, including the continuations that ran in MPI's progress.
long make_progress() noexcept;
// A turn of a loop that waits for another process: one round and, if nothing ran, a pause.
void make_progress_or_pause(thence_backoff &backoff) noexcept;

// The common end of a wait: one continuation is ready, and it is the last of `cr`. Then it runs the continuation, sets
// `reported` of `cr`, which is complete, and returns true. It returns false if it has done nothing, or has run a
// continuation of `cr` that was not the last.
bool run_last_of(MPI_Request cr) noexcept;

// The word in which running_scope counts running callbacks. It is progress::slow_path_reasons if interposed calls must
// know of them, since threads that wait in MPI rely on each other (see core/mpi/calls.hpp). Else it is a word that is
// never read, so that running_scope needs no branch.
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
    running_scope &operator=(running_scope &&) = delete;
};

// Steps of running one continuation that attaching and completing need, too.

// Takes the results of all operations; returns the first error.
int settle(continuation &c, control_word kind) noexcept;

// Calls the callback with `error`, the first error of the operations. Returns the callback's result.
int invoke(const continuation &c, signature form, int error) noexcept;

// Counts a failure. `error`: the first error of the operations. `result`: the result of the callback.
__attribute__((noinline)) void note_failure(const continuation &c, int error, int result,
                                            bool owns_data = false) noexcept;
// What follows the callback of a continuation of any kind: counts a failure, and releases the data if the continuation
// owns them and the CR does not keep them for thence_get_failed().
void finish_callback(const continuation &c, control_word kind, int error, int result) noexcept;

// Runs a continuation inside attach(): all operations are complete and its phase is not yet `attached`. Gives it back.
void run_now(continuation &c) noexcept;

} // namespace thence::continuation
