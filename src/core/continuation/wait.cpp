// SPDX-License-Identifier: BSD-3-Clause
#include "core/continuation/wait.hpp"

#include "core/base/per_thread.hpp"
#include "core/continuation/deadlock_detector.hpp"
#include "core/continuation/lifetime.hpp"
#include "core/continuation/run.hpp"

#include <climits>

namespace thence::continuation {

namespace {

// The result of a test, after the continuations that could run have run.
inline test_result conclude(continuation_request &cr) noexcept {
    return cr.idle() ? report_complete(cr) : test_result{false, has_ended() ? int{MPI_ERR_OTHER} : int{MPI_SUCCESS}};
}

// Without memory for a detector nothing is detected.
bool waits_for_itself(continuation_request &cr) noexcept {
    auto *const detector = base::rare_per_thread<deadlock_detector>::get();
    return detector != nullptr && detector->detects(cr);
}

} // namespace

// In a test with a limited number of callbacks, none may run in MPI's completion path, since those are not counted.
bool poll_for(const continuation_request &cr) noexcept {
    if (cr.max_poll() < 0) {
        return progress::poll_sources(progress::polled_from::outside);
    }
    const busy_scope limited;
    return progress::poll_sources(progress::polled_from::outside);
}

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
        return {true, MPI_SUCCESS}; // as for any inactive persistent request
    }
    // Ready continuations run first. If none is left then, MPI need not be called.
    const long ran = run_own(cr);
    if (cr.idle()) [[likely]] {
        return conclude(cr);
    }
    // Most tests find nothing to run. A source that is polled after ours may have made continuations ready. What others
    // have to run is not known to a test with a limit, which polls as if inside a callback.
    const bool some = poll_for(cr) || any_ready() || !cr.own_queue().empty();
    if (free_to_run()) {
        if (!some && cr.max_poll() < 0) {
            return conclude(cr);
        }
        if (ran == 0) {
            run_own(cr); // max_poll bounds one test, so a second round runs only if the first ran nothing
        }
        // An operation may wait for work of another source. max_poll limits the callbacks of continuations only.
        progress::run_sources(LONG_MAX, cr.max_poll() < 0 ? nullptr : &as_source);
    } else if (this_thread.in_callback() && !cr.idle() && (this_thread.in_completion() || waits_for_itself(cr))) {
        return {false, MPI_ERR_PENDING};
    }
    return conclude(cr);
}

namespace {

// Polls until something may be ready, at most a thousand times. The time between two polls of MPI delays a message by
// half of that time on average, so the loop does nothing else.
void poll_until_ready(const continuation_request &cr) noexcept {
    constexpr int looks = 1000;
    for (int i = 0; i < looks && !progress::poll_sources(progress::polled_from::outside) && !cr.idle(); ++i) {
    }
}

} // namespace

test_result wait(continuation_request &cr) noexcept {
    for (;;) {
        const test_result result = test(cr);
        if (result.complete || result.error != MPI_SUCCESS) {
            return result;
        }
        progress::run_sources(LONG_MAX); // a wait is more than one test, so max_poll does not bound it
        if (free_to_run() && !cr.has(THENCE_CR_POLL_ONLY)) {
            do {
                poll_until_ready(cr);
                progress::run_sources(LONG_MAX);
            } while (!cr.idle());
        }
    }
}

} // namespace thence::continuation
