// SPDX-License-Identifier: BSD-3-Clause
// Running continuations: on which thread, when, and how many. The continuation layer is also a source of progress.
//
// Rules: no continuation runs while this thread is busy (in a callback, in an attaching call, in a poll). So none runs
// inside another, and none inside thence_attach(). In MPI's own completion path, a continuation runs only if its CR
// allows that (THENCE_CR_IN_COMPLETION). Poll-only continuations run only in a test of their CR. The helper thread runs
// only continuations of CRs that allow any thread.
#pragma once

#include "continuation/request.hpp"
#include "continuation/thread_state.hpp"
#include "progress/source.hpp"

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

// The common end of a wait: one continuation is ready, and it is the last of `cr`. Then it runs the continuation, sets
// `reported` of `cr`, which is complete, and returns true. It returns false if it has done nothing, or has run a
// continuation of `cr` that was not the last.
bool run_last_of(MPI_Request cr) noexcept;

} // namespace thence::continuation
