// SPDX-License-Identifier: BSD-3-Clause
// Running continuations: who may, when, and how many.
//
// Rules: none runs while this thread is busy (in a callback, in an attaching call, in a poll), so none runs inside
// another and none inside thence_attach(). In MPI's own completion path only those whose CR promises to bear it
// (THENCE_CR_IN_COMPLETION). Poll-only ones run only from test(). The helper thread runs only those of
// CRs that allow any thread.
#pragma once

#include "continuation/request.hpp"
#include "continuation/thread_state.hpp"
#include "engine/engine.hpp"

#include <climits>

namespace thence::continuation {

// Continuations may be ready that may run outside a test.
inline bool any_ready() noexcept {
    return (application_queue.glance() | any_thread_queue.glance()) != 0;
}
// Or there may be completions to find.
inline bool something_to_do() noexcept {
    return any_ready() || !engine::current->quiet();
}

// From MPI's progress hook: finds completions and runs at most a bounded number. Returns how many ran.
int on_progress() noexcept;
// From a hook that may run nothing: finds completions.
void find() noexcept;

// Lets MPI progress, once, and finds completions. What a callback in the middle of its progress may have interrupted,
// nobody knows: there it does nothing. `may_complete`: continuations may run in its completion path.
void let_mpi_progress(bool may_complete = true) noexcept;
// Lets MPI progress, then runs what may run outside a test. Returns how many ran, those in its progress included.
long progress() noexcept;

// Runs what is ready, without making progress. Cheap when nothing is.
long run_some_ready(long limit) noexcept; // `limit` is above zero
inline long run_ready(long limit) noexcept {
    return limit > 0 && any_ready() ? run_some_ready(limit) : 0;
}

// Runs what waits for a test of `cr`, within its limit, without making progress.
long run_some_own(continuation_request &cr) noexcept;
inline long run_own(continuation_request &cr) noexcept {
    return any_ready() || cr.has(THENCE_CR_POLL_ONLY) ? run_some_own(cr) : 0;
}

// Runs at least one and up to `limit` continuations of a queue that is not empty. Only while this thread is not busy.
long run_queue(base::ready_queue<continuation> &queue, long limit) noexcept;

} // namespace thence::continuation
