// SPDX-License-Identifier: BSD-3-Clause
#include "continuation/wait.hpp"

#include "continuation/run_one.hpp"
#include "continuation/standstill.hpp"
#include "mpi/calls.hpp"

#include <climits>

namespace thence::continuation {

namespace {

// The state after what could run has run.
inline test_result conclude(continuation_request &cr) noexcept {
    return cr.idle() ? report_complete(cr) : test_result{};
}

thread_local constinit standstill waiting_inside;

} // namespace

test_result report_complete(continuation_request &cr) noexcept {
    cr.set_reported(true);
    test_result result{true, MPI_SUCCESS};
    if (!cr.waits_simply()) [[unlikely]] {
        cr.deactivate();
        const continuation_request::failure failure = cr.take_error();
        result.error = failure.error;
        result.handled = failure.handled;
    }
    return result;
}

test_result test(continuation_request &cr) noexcept {
    if (!cr.active()) [[unlikely]] {
        return {true, MPI_SUCCESS}; // as any inactive persistent request
    }
    // What is ready runs first: if nothing is left then, MPI need not be asked.
    const long ran = run_own(cr);
    if (cr.idle()) [[likely]] {
        return conclude(cr);
    }
    let_mpi_progress(cr.max_poll() < 0);
    if (free_to_run()) {
        if (ran == 0) {
            run_own(cr); // max_poll bounds one test: the second round is for a first that found nothing
        }
    } else if (this_thread.in_callback() && !cr.idle() && (this_thread.in_completion() || waiting_inside.lasts(cr))) {
        return {false, MPI_ERR_PENDING};
    }
    return conclude(cr);
}

namespace {

// The ready continuation is not one of `*cr`'s: it runs, unless `*cr` is no live CR. Then the call must change nothing.
__attribute__((noinline)) int finish_other_wait(continuation *ready, MPI_Request *cr, MPI_Status *status,
                                                int (*otherwise)(MPI_Request *, MPI_Status *)) noexcept {
    if (continuation_request::from(*cr) == nullptr) {
        application_queue.put_back(ready);
        return otherwise(cr, status);
    }
    {
        running_scope running;
        run_alone(*ready, ready->cr);
        this_thread.current->release();
        this_thread.counts.completed.add();
    }
    return otherwise(cr, status);
}

} // namespace

int finish_wait(MPI_Request *cr, MPI_Status *status, int (*otherwise)(MPI_Request *, MPI_Status *)) noexcept {
    if (!this_thread.free_to_run()) [[unlikely]] { // so this is not the helper thread, which waits in callbacks only
        return otherwise(cr, status);
    }
    continuation *c = application_queue.pop_newcomer();
    if (c == nullptr) [[unlikely]] {
        return otherwise(cr, status);
    }
    continuation_request *its = c->cr;
    if (!its->is_named_by(*cr)) [[unlikely]] {
        return finish_other_wait(c, cr, status, otherwise);
    }
    bool last = false;
    {
        running_scope running;
        run_alone(*c, its);
        its = this_thread.current; // loaded again: cheaper than a register kept across the callback
        its->set_reported(true);
        last = its->release_last();
        this_thread.counts.completed.add();
    }
    if (!last || !its->waits_simply()) [[unlikely]] {
        return otherwise(cr, status);
    }
    if (engine::wanted(status)) {
        *status = mpi::empty_status();
    }
    return MPI_SUCCESS;
}

namespace {

// Runs what came: one of the application's continuations, mostly. run_ready() alone would do; this is what stands
// between a message and its answer, and a ping-pong is one or two hundredths faster so.
void run_news() noexcept {
    if (application_queue.glance() != 0) [[likely]] { // the helper thread never comes here: it waits in callbacks only
        run_from(application_queue, LONG_MAX);
    }
    run_ready(LONG_MAX);
}

// Until something may be ready. Whatever stands between two looks at MPI delays every message by half of it.
void wait_for_news(const continuation_request &cr) noexcept {
    constexpr int looks = 1000;
    for (int i = 0; i < looks && !any_ready() && !cr.idle(); ++i) {
        let_mpi_progress();
    }
}

} // namespace

test_result wait(continuation_request &cr) noexcept {
    for (;;) {
        const test_result result = test(cr);
        if (result.complete || result.error != MPI_SUCCESS) {
            return result;
        }
        run_ready(LONG_MAX); // a wait is no single test: max_poll does not bound it
        if (free_to_run() && !cr.has(THENCE_CR_POLL_ONLY)) {
            do {
                wait_for_news(cr);
                run_news();
            } while (!cr.idle());
        }
    }
}

} // namespace thence::continuation
