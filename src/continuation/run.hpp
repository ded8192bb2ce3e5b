// SPDX-License-Identifier: BSD-3-Clause
// Running continuations: who may, when, and how many; and the continuation layer as a source of progress.
//
// Rules: none runs while this thread is busy (in a callback, in an attaching call, in a poll), so none runs inside
// another and none inside thence_attach(). In MPI's own completion path only those run whose CR promises to bear it
// (THENCE_CR_IN_COMPLETION). Poll-only ones run only in a test of their CR. The helper thread runs only those of CRs
// that allow any thread.
#pragma once

#include "continuation/request.hpp"
#include "continuation/thread_state.hpp"
#include "progress/source.hpp"

namespace thence::continuation {

// The continuation layer, as hook, helper and waiting calls see it.
extern const progress::source as_source;

// Continuations may be ready that may run outside a test of their CR.
inline bool any_ready() noexcept {
    return !application_queue.empty() || !any_thread_queue.empty();
}
// Or there may be completions to find.
bool something_to_do() noexcept;

// Runs at most `limit` ready continuations that may run outside a test, without making progress.
long run_ready(long limit) noexcept;
// The same with what waits for a test of `cr`, within the limit of that CR.
long run_own(continuation_request &cr) noexcept;

// One round: lets MPI make progress, polls all sources, runs what is ready in them. Returns how many continuations and
// other things ran, those in MPI's progress included.
long make_progress() noexcept;

// The common end of a wait: one continuation is ready, and it is the last of `cr`. Runs it and returns true: `cr` is
// complete, and reported as such. Else nothing has changed, or a continuation of `cr` has run that was not the last.
bool run_last_of(MPI_Request cr) noexcept;

} // namespace thence::continuation
