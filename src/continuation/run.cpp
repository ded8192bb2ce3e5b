// SPDX-License-Identifier: BSD-3-Clause
#include "continuation/run.hpp"

#include "base/clock.hpp"
#include "continuation/interposing.hpp"
#include "continuation/observe.hpp"
#include "continuation/thread_state.hpp"
#include "engine/engine.hpp"
#include "engine/push.hpp"
#include "mpi/calls.hpp"
#include "progress/progress.hpp"

#include <algorithm>
#include <climits>

namespace thence::continuation {

namespace {

// From a hook we borrow a thread that wanted something else: give it back soon.
constexpr long most_in_hook = 64;

// This thread runs continuations: it says so to interposed calls, and counts as being in a callback throughout.
class running_scope {
public:
    running_scope() noexcept : outer_(this_thread.current) {
        if (!this_thread.enlisted) [[unlikely]] {
            enlist_this_thread();
        }
        attention.fetch_add(attention_running, std::memory_order_relaxed);
        ++this_thread.busy;
        ++this_thread.in_callback;
    }
    ~running_scope() {
        --this_thread.in_callback;
        --this_thread.busy;
        this_thread.current = outer_;
        attention.fetch_sub(attention_running, std::memory_order_relaxed);
    }
    running_scope(const running_scope &) = delete;
    running_scope &operator=(const running_scope &) = delete;

private:
    const continuation_request *outer_;
};

continuation *next_ready() noexcept {
    if (!this_thread.helper) {
        if (continuation *c = application_queue.pop()) {
            return c;
        }
    }
    return any_thread_queue.pop();
}

inline void become_running(continuation &c) noexcept {
    phase expected = phase::attached;
    base::spin_wait wait;
    while (!c.at.compare_exchange_weak(expected, phase::running, std::memory_order_acquire))
        [[unlikely]] {
            // Still inside thence_attach() on another thread, or under a visitor's eyes: both are brief.
            if (expected != phase::attached) {
                wait();
            }
            expected = phase::attached;
        }
}

inline int invoke(const continuation &c, int error) noexcept {
    switch (c.form) {
    case signature::own:
        return reinterpret_cast<thence_callback *>(c.callback)(error, c.statuses, c.data);
    case signature::paper:
        reinterpret_cast<void (*)(MPI_Status *, void *)>(c.callback)(c.statuses, c.data);
        return MPI_SUCCESS;
    case signature::forum:
        return reinterpret_cast<int (*)(int, void *)>(c.callback)(error, c.data);
    }
    return MPI_SUCCESS;
}

__attribute__((noinline)) int invoke_observed(const continuation &c, int error) noexcept {
    const std::uint64_t started = observing->begin(c);
    const int result = invoke(c, error);
    observing->end(c, started);
    return result;
}

__attribute__((noinline)) void note_failure(const continuation &c, int code) {
    this_thread.counts.failed.add();
    if (c.cr->has(THENCE_CR_REPORT_FAILED)) {
        c.cr->add_failed(c.data, code);
    }
}

// Runs one, whose thread is in a running_scope.
inline void run_one(continuation &c) noexcept {
    const int error = c.count == 1 && engine::try_finish(c.first) ? int{MPI_SUCCESS} : settle(c);
    int result = error;
    if (error == MPI_SUCCESS || c.invoke_failed || !c.cr->has(THENCE_CR_REPORT_FAILED)) [[likely]] {
        this_thread.current = c.cr;
        result = observing == nullptr ? invoke(c, error) : invoke_observed(c, error);
    }
    if (result != MPI_SUCCESS || error != MPI_SUCCESS) [[unlikely]] {
        note_failure(c, result != MPI_SUCCESS ? result : error);
    }
    this_thread.counts.completed.add();
    discard(c);
}

long run_from(base::ready_queue<continuation> &queue, long limit) noexcept {
    if (queue.empty() || limit <= 0) {
        return 0;
    }
    running_scope running;
    long ran = 0;
    while (ran < limit) {
        continuation *c = queue.pop();
        if (c == nullptr) {
            break;
        }
        become_running(*c);
        run_one(*c);
        ++ran;
    }
    return ran;
}

// Inside a callback nothing runs on this thread. If nobody else runs it either, a loop that waits for it must end.
class standstill {
public:
    bool lasts(const continuation_request &cr) noexcept {
        const std::uint32_t now = base::coarse_clock::read();
        const unsigned long long done = total(&counters::completed);
        if (cr_ != &cr || done != done_) {
            cr_ = &cr;
            done_ = done;
            since_ = now;
        }
        const bool ready = !application_queue.empty() || !any_thread_queue.empty() ||
                           !const_cast<continuation_request &>(cr).own_queue().empty();
        // Only this callback's own continuation is left in `cr`, or what is left is ready and finds no thread.
        const bool alone = cr.registered() == 1 && this_thread.current == &cr;
        return (ready || alone) && now - since_ > patience_ms;
    }

private:
    static constexpr std::uint32_t patience_ms = 1000;
    const continuation_request *cr_ = nullptr;
    unsigned long long done_ = 0;
    std::uint32_t since_ = 0;
};

thread_local constinit standstill waiting_inside;

} // namespace

int settle(continuation &c) noexcept {
    int error = MPI_SUCCESS;
    engine::operation *ops = c.operations();
    for (int i = 0; i < c.count; ++i) {
        if (ops[i].how != engine::tending::done) {
            engine::current->finish(ops[i]);
        }
        error = error == MPI_SUCCESS ? ops[i].error : error;
    }
    return error;
}

void run(continuation &c) noexcept {
    running_scope running;
    run_one(c);
}

long run_ready(long limit) noexcept {
    if (this_thread.busy != 0 || (any_thread_queue.empty() && (this_thread.helper || application_queue.empty()))) {
        return 0;
    }
    running_scope running;
    long ran = 0;
    while (ran < limit) {
        continuation *c = next_ready();
        if (c == nullptr) {
            break;
        }
        become_running(*c);
        run_one(*c);
        ++ran;
    }
    return ran;
}

int on_progress() noexcept {
    if (this_thread.busy != 0) {
        return 0;
    }
    if (!engine::current->quiet()) {
        busy_scope polling;
        engine::current->poll();
    }
    const long ran = run_ready(most_in_hook);
    if (ran == 0) {
        progress::hook_found_nothing();
    }
    return static_cast<int>(ran);
}

long progress() noexcept {
    {
        busy_scope polling;
        engine::current->progress();
    }
    return run_ready(LONG_MAX);
}

long run_own(continuation_request &cr) noexcept {
    if (this_thread.busy != 0) {
        return 0;
    }
    const long limit = cr.max_poll() < 0 ? LONG_MAX : cr.max_poll();
    const long ran = cr.has(THENCE_CR_POLL_ONLY) ? run_from(cr.own_queue(), limit) : 0;
    return ran + run_ready(limit - ran);
}

test_result test(continuation_request &cr) noexcept {
    test_result result;
    if (!cr.active()) {
        result.complete = true; // inactive, as any inactive persistent request
        return result;
    }
    // What is ready runs first: if nothing is left then, MPI need not be asked.
    const long ran = run_own(cr);
    if (!cr.idle()) {
        busy_scope polling;
        engine::current->progress();
    }
    if (this_thread.busy == 0) {
        if (ran == 0) {
            run_own(cr); // max_poll bounds one test: the second round is for a first that found nothing
        }
    } else if (this_thread.in_callback != 0 && !cr.idle() && waiting_inside.lasts(cr)) {
        result.error = MPI_ERR_PENDING;
        return result;
    }
    if (cr.idle()) {
        result.complete = true;
        cr.deactivate();
        if (cr.has(THENCE_CR_REPORT_FAILED)) {
            result.error = cr.take_error();
        }
    }
    return result;
}

test_result wait(continuation_request &cr) noexcept {
    for (;;) {
        const test_result result = test(cr);
        if (result.complete || result.error != MPI_SUCCESS) {
            return result;
        }
    }
}

} // namespace thence::continuation
