// SPDX-License-Identifier: BSD-3-Clause
// Running continuations: who may, when, and how many.
//
// Rules: none runs while this thread is busy (in a callback, in an attaching call, in a poll), so none runs inside
// another and none inside thence_attach(). Poll-only ones run only from test(). The helper thread runs only those of
// CRs that allow any thread.
#pragma once

#include "continuation/request.hpp"
#include "continuation/thread_state.hpp"

namespace thence::continuation {

// From MPI's progress hook: finds completions and runs at most a bounded number. Returns how many ran.
int on_progress(bool may_run) noexcept;

// Lets MPI progress, then runs what may run outside a test. Returns how many ran.
long progress() noexcept;

// Runs what is ready, without making progress. Cheap when nothing is.
long run_ready(long limit) noexcept;

// Runs what waits for a test of `cr`, within its limit, without making progress.
long run_own(continuation_request &cr) noexcept;

// Runs at least one and up to `limit` continuations of a queue that is not empty. Only while this thread is not busy.
long run_queue(base::ready_queue<continuation> &queue, long limit) noexcept;

// The common end of a wait: what is ready, run, was all there was. False if more must be done; see wait().
inline bool wait_is_over(const continuation_request &cr) noexcept {
    constexpr long no_limit = -1;
    if (this_thread.busy == 0 && !application_queue.empty() && !this_thread.helper) [[likely]] {
        run_queue(application_queue, no_limit);
    }
    return cr.idle() && !cr.has(THENCE_CR_NEEDS_START | THENCE_CR_REPORT_FAILED);
}

struct test_result {
    bool complete = false;
    int error = MPI_SUCCESS;
};
test_result test(continuation_request &cr) noexcept;
// Blocks until complete, except for MPI_ERR_PENDING inside a callback that nothing else could satisfy.
test_result wait(continuation_request &cr) noexcept;

// Takes the results of all operations; returns the first error.
int settle(continuation &c) noexcept;
// Runs one complete continuation from inside attach(), and gives it back.
void run(continuation &c) noexcept;
// Gives one back that need not run.
inline void discard(continuation &c) noexcept {
    continuation_request &cr = *c.cr;
    c.control.store(phase::free, std::memory_order_relaxed);
    continuations.give(this_thread.stock, &c);
    cr.release();
}

} // namespace thence::continuation
