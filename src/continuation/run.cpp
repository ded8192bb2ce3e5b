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

// This thread runs continuations, and says so to interposed calls.
class running_scope {
public:
    running_scope() noexcept {
        if (!this_thread.enlisted) [[unlikely]] {
            enlist_this_thread();
        }
        attention.fetch_add(attention_running, std::memory_order_relaxed);
        ++this_thread.busy;
    }
    ~running_scope() {
        --this_thread.busy;
        this_thread.current = nullptr;
        attention.fetch_sub(attention_running, std::memory_order_relaxed);
    }
    running_scope(const running_scope &) = delete;
    running_scope &operator=(const running_scope &) = delete;
};

// Still inside thence_attach() on another thread, or under a visitor's eyes: both are brief and end with `attached`.
// From there another visitor may be quicker than we are, so it takes a compare-and-swap.
__attribute__((noinline)) control_word wait_until_attached(continuation &c) noexcept {
    base::spin_wait wait;
    control_word seen = c.control.load(std::memory_order_relaxed);
    while (seen.at() != phase::attached ||
           !c.control.compare_exchange_weak(seen, phase::running, std::memory_order_acquire)) {
        wait();
        seen = c.control.load(std::memory_order_relaxed);
    }
    return seen;
}

// From attached to running; returns the word as it was.
inline control_word become_running(continuation &c) noexcept {
    const control_word seen = c.control.exchange(phase::running, std::memory_order_acquire);
    return seen.at() == phase::attached ? seen : wait_until_attached(c);
}

inline int invoke(const continuation &c, signature form, int error) noexcept {
    switch (form) {
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

__attribute__((noinline)) void note_failure(const continuation &c, int code) {
    this_thread.counts.failed.add();
    if (c.cr->has(THENCE_CR_REPORT_FAILED)) {
        c.cr->add_failed(c.data, code);
    }
}

// Everything but a single that needs nothing more of MPI.
__attribute__((noinline)) void run_general(continuation &c, control_word kind) noexcept {
    if (kind.single()) {
        c.expand();
    }
    const int error = settle(c);
    int result = error;
    if (error == MPI_SUCCESS || kind.invoke_failed() || !c.cr->has(THENCE_CR_REPORT_FAILED)) {
        const std::uint64_t started = observing != nullptr ? observing->begin(c) : 0;
        result = invoke(c, kind.form(), error);
        if (observing != nullptr) {
            observing->end(c, started, result);
        }
    } else if (observing != nullptr) {
        observing->end(c, 0, error);
    }
    if (result != MPI_SUCCESS || error != MPI_SUCCESS) {
        note_failure(c, result != MPI_SUCCESS ? result : error);
    }
}

// Runs one and gives it back, but for its CR's reference. Its thread is in a running_scope.
inline void run_one(continuation &c) noexcept {
    const control_word kind = become_running(c);
    if (!kind.single() || !engine::try_finish(c.request, c.statuses)) [[unlikely]] {
        run_general(c, kind);
    } else if (kind.form() == signature::paper) {
        reinterpret_cast<void (*)(MPI_Status *, void *)>(c.callback)(c.statuses, c.data);
    } else if (const int result = invoke(c, kind.form(), MPI_SUCCESS); result != MPI_SUCCESS) [[unlikely]] {
        note_failure(c, result);
    }
    c.control.store(phase::free, std::memory_order_relaxed);
    continuations.give_one_of_many(this_thread.stock, &c);
}

// Continuations of one CR in a row give their references back together: the CR cannot become idle before the last of
// them has run anyway.
class reference_holder {
public:
    void hold(continuation_request *cr) noexcept {
        if (cr_ != nullptr) [[unlikely]] {
            release();
        }
        cr_ = cr;
        this_thread.current = cr;
    }
    void release() noexcept {
        if (cr_ != nullptr) [[likely]] {
            const long n = this_thread.held;
            this_thread.held = 0;
            cr_->release(n);
        }
    }
    continuation_request *cr() const noexcept { return cr_; }

private:
    continuation_request *cr_ = nullptr;
};

} // namespace

long run_queue(base::ready_queue<continuation> &queue, long limit) noexcept {
    running_scope running;
    reference_holder holder;
    long ran = 0;
    do {
        continuation *c = queue.pop();
        if (c == nullptr) [[unlikely]] {
            break;
        }
        if (c->cr != holder.cr()) [[unlikely]] {
            holder.hold(c->cr);
        }
        run_one(*c);
        ++this_thread.held;
        ++ran;
    } while (ran != limit && !queue.empty());
    this_thread.counts.completed.add(static_cast<unsigned long long>(ran));
    continuations.level(this_thread.stock);
    holder.release();
    return ran;
}

namespace {

// Inside a callback nothing runs on this thread. If nobody else runs it either, a loop that waits for it must end.
class standstill {
public:
    bool lasts(const continuation_request &cr) noexcept {
        const std::uint32_t now = base::coarse_milliseconds();
        const unsigned long long done = total(&counters::completed);
        // A look after a pause is a new wait: the callback did other work meanwhile.
        if (cr_ != &cr || done != done_ || now - seen_ > pause_ms) {
            cr_ = &cr;
            done_ = done;
            since_ = now;
        }
        seen_ = now;
        const bool ready = !application_queue.empty() || !any_thread_queue.empty() ||
                           !const_cast<continuation_request &>(cr).own_queue().empty();
        // Only this callback's own continuation is left in `cr`, or what is left is ready and finds no thread.
        const bool alone = this_thread.current == &cr && cr.registered() == 1 + this_thread.held;
        return (ready || alone) && now - since_ > patience_ms;
    }

private:
    static constexpr std::uint32_t patience_ms = 1000;
    static constexpr std::uint32_t pause_ms = 200;
    const continuation_request *cr_ = nullptr;
    unsigned long long done_ = 0;
    std::uint32_t since_ = 0;
    std::uint32_t seen_ = 0;
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
    continuation_request &cr = *c.cr;
    this_thread.current = &cr;
    c.control.store(c.control.load(std::memory_order_relaxed).with(phase::attached), std::memory_order_release);
    run_one(c);
    this_thread.counts.completed.add();
    cr.release();
}

long run_ready(long limit) noexcept {
    if (this_thread.busy != 0 || limit <= 0) {
        return 0;
    }
    long ran = 0;
    if (!application_queue.empty() && !this_thread.helper) {
        ran = run_queue(application_queue, limit);
    }
    if (!any_thread_queue.empty() && ran != limit) {
        ran += run_queue(any_thread_queue, limit - ran);
    }
    return ran;
}

int on_progress(bool may_run) noexcept {
    if (this_thread.busy != 0) {
        return 0;
    }
    if (!engine::current->quiet() && (may_run || !engine::current->poll_progresses())) {
        busy_scope polling;
        engine::current->poll();
    }
    const long ran = may_run ? run_ready(most_in_hook) : 0;
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
    long ran = 0;
    if (cr.has(THENCE_CR_POLL_ONLY) && !cr.own_queue().empty() && limit != 0) {
        ran = run_queue(cr.own_queue(), limit);
    }
    return ran + run_ready(limit - ran);
}

namespace {

// The state after what could run has run.
inline test_result conclude(continuation_request &cr) noexcept {
    test_result result;
    if (cr.idle()) {
        result.complete = true;
        if (cr.has(THENCE_CR_NEEDS_START | THENCE_CR_REPORT_FAILED)) [[unlikely]] {
            cr.deactivate();
            result.error = cr.take_error();
        }
    }
    return result;
}

} // namespace

test_result test(continuation_request &cr) noexcept {
    if (!cr.active()) [[unlikely]] {
        return {true, MPI_SUCCESS}; // as any inactive persistent request
    }
    // What is ready runs first: if nothing is left then, MPI need not be asked.
    const long ran = run_own(cr);
    if (cr.idle()) [[likely]] {
        return conclude(cr);
    }
    {
        busy_scope polling;
        engine::current->progress();
    }
    if (this_thread.busy == 0) {
        if (ran == 0) {
            run_own(cr); // max_poll bounds one test: the second round is for a first that found nothing
        }
    } else if (this_thread.current != nullptr && !cr.idle() && waiting_inside.lasts(cr)) {
        return {false, MPI_ERR_PENDING};
    }
    return conclude(cr);
}

test_result wait(continuation_request &cr) noexcept {
    for (;;) {
        const test_result result = test(cr);
        if (result.complete || result.error != MPI_SUCCESS) {
            return result;
        }
        run_ready(LONG_MAX); // a wait is no single test: max_poll does not bound it
    }
}

} // namespace thence::continuation
