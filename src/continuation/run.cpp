// SPDX-License-Identifier: BSD-3-Clause
#include "continuation/run.hpp"

#include "continuation/interposing.hpp"
#include "continuation/library.hpp"
#include "continuation/observe.hpp"
#include "continuation/standstill.hpp"
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

// This thread, which is free to, runs continuations, and says so to interposed calls. `alone`: no other thread is in
// MPI or in the library, so the count needs no locked instruction.
class running_scope {
public:
    explicit running_scope(bool alone = false) noexcept : alone_(alone) {
        change(attention_running);
        this_thread.busy += thread_state::running_mark + 1;
    }
    ~running_scope() {
        this_thread.busy -= thread_state::running_mark + 1;
        change(-attention_running);
    }
    running_scope(const running_scope &) = delete;
    running_scope &operator=(const running_scope &) = delete;

private:
    void change(std::uint64_t by) const noexcept {
        if (alone_) {
            running_count->store(running_count->load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
        } else {
            running_count->fetch_add(by, std::memory_order_relaxed);
        }
    }
    bool alone_;
};

// Still inside thence_attach() on another thread, or under a visitor's eyes: both are brief and end with `attached`.
// From there another visitor may be quicker than we are, so it takes a compare-and-swap. Ours was the exchange that
// left `free` behind; attacher and visitor store over it.
__attribute__((noinline)) control_word wait_until_attached(continuation &c) noexcept {
    base::spin_wait wait;
    for (;;) {
        const control_word seen = c.control();
        if (seen.at() == phase::attached && c.change_control(seen, phase::free)) {
            return seen;
        }
        wait();
    }
}

inline int invoke(const continuation &c, signature form, int error) noexcept {
    switch (form) {
    case signature::own:
        return reinterpret_cast<thence_callback *>(c.callback)(error, c.statuses(), c.data);
    case signature::paper:
        reinterpret_cast<void (*)(MPI_Status *, void *)>(c.callback)(c.statuses(), c.data);
        return MPI_SUCCESS;
    case signature::forum:
        return reinterpret_cast<int (*)(int, void *)>(c.callback)(error, c.data);
    }
    return MPI_SUCCESS;
}

// `error`: of its operations. `result`: of its callback.
__attribute__((noinline)) void note_failure(const continuation &c, int error, int result) {
    this_thread.counts.failed.add();
    if (c.cr->has(THENCE_CR_REPORT_FAILED)) {
        c.cr->add_failed(c.data, result != MPI_SUCCESS ? result : error, error != MPI_SUCCESS);
    }
}

void run_group(continuation &c, control_word kind) noexcept {
    const int error = settle(c, kind);
    int result = error;
    if (error == MPI_SUCCESS || kind.is(control_word::invoke_failed) || !c.cr->has(THENCE_CR_REPORT_FAILED)) {
        const std::uint64_t started = observing != nullptr ? observing->begin(c) : 0;
        result = invoke(c, kind.form(), error);
        if (observing != nullptr) {
            observing->end(c, started, result);
        }
    } else if (observing != nullptr) {
        observing->end(c, 0, error);
    }
    if (result != MPI_SUCCESS || error != MPI_SUCCESS) {
        note_failure(c, error, result);
    }
    if (!kind.is(control_word::single)) {
        groups.give(this_thread.group_stock, &c.of_group());
    }
}

constexpr control_word pushed_single(signature form) noexcept {
    return {phase::attached, form, control_word::single | control_word::pushed};
}

constexpr control_word polled_single(signature form) noexcept {
    return {phase::attached, form, control_word::single};
}

// Everything but the most common kinds. `kind` is what take_control() found.
__attribute__((noinline)) void run_other(continuation &c, control_word kind) noexcept {
    if (kind.at() != phase::attached) [[unlikely]] {
        kind = wait_until_attached(c);
    }
    const bool finished = kind.is(control_word::pushed) ? engine::try_finish(c.first.request, c.first.status)
                                                        : c.first.how == engine::tending::done;
    if (kind.is(control_word::pushed)) {
        c.first.how = finished ? engine::tending::done : engine::tending::pushed;
        c.first.error = MPI_SUCCESS;
    }
    if (!kind.is(control_word::single) || !finished || c.first.error != MPI_SUCCESS) {
        run_group(c, kind);
    } else if (const int result = invoke(c, kind.form(), MPI_SUCCESS); result != MPI_SUCCESS) [[unlikely]] {
        note_failure(c, MPI_SUCCESS, result);
    }
}

// Runs one, and gives all of it back but its CR's reference. Its thread is in a running_scope.
//
// The most common kinds are released after their callback: what that sends must not wait for it. So a callback that
// posts the next receive takes a request more than are outstanding.
[[gnu::always_inline]] inline void run_one(continuation &c) noexcept {
    const control_word kind = c.take_control(); // from attached to free, which is where it runs
    // NOLINTNEXTLINE(bugprone-branch-clone): in the order of likelihood
    if (kind == pushed_single(signature::paper) && engine::try_take(c.first.request, c.first.status)) [[likely]] {
        reinterpret_cast<void (*)(MPI_Status *, void *)>(c.callback)(c.first.status, c.data);
        engine::release(c.first.request);
    } else if (kind == pushed_single(signature::own) && engine::try_take(c.first.request, c.first.status)) {
        const int result = reinterpret_cast<thence_callback *>(c.callback)(MPI_SUCCESS, c.first.status, c.data);
        engine::release(c.first.request);
        if (result != MPI_SUCCESS) [[unlikely]] {
            note_failure(c, MPI_SUCCESS, result);
        }
    } else if (kind == polled_single(signature::paper) && c.first.how == engine::tending::done &&
               c.first.error == MPI_SUCCESS) {
        reinterpret_cast<void (*)(MPI_Status *, void *)>(c.callback)(c.first.status, c.data);
    } else {
        run_other(c, kind);
    }
    continuations.give_one_of_many(this_thread.stock, &c);
}

// Continuations of one CR in a row give their references back together: the CR cannot become idle before the last of
// them has run anyway.
class reference_holder {
public:
    void hold(continuation_request *cr) noexcept {
        release();
        cr_ = cr;
        this_thread.current = cr;
    }
    void release() noexcept {
        if (cr_ != nullptr) {
            const long n = this_thread.held();
            this_thread.ran_before = this_thread.ran;
            cr_->release(n);
        }
    }
    continuation_request *cr() const noexcept { return cr_; }

private:
    continuation_request *cr_ = nullptr;
};

template <bool bounded>
[[gnu::always_inline]] inline void run_some(base::ready_queue<continuation> &queue, long limit) {
    reference_holder holder;
    do {
        continuation *c = queue.pop();
        if (c == nullptr) [[unlikely]] {
            break;
        }
        if (c->cr != holder.cr()) [[unlikely]] {
            holder.hold(c->cr);
        }
        run_one(*c);
        ++this_thread.ran;
    } while ((!bounded || this_thread.ran != limit) && !queue.empty());
    continuations.level(this_thread.stock, static_cast<unsigned>(this_thread.ran));
    holder.release();
}

} // namespace

long run_queue(base::ready_queue<continuation> &queue, long limit) noexcept {
    running_scope running;
    this_thread.ran = 0;
    this_thread.ran_before = 0;
    if (limit == LONG_MAX) {
        run_some<false>(queue, limit);
    } else {
        run_some<true>(queue, limit);
    }
    this_thread.counts.completed.add(static_cast<unsigned long long>(this_thread.ran));
    return this_thread.ran;
}

namespace {

// The same for one continuation but for its CR's reference: no loop, no holder. held() is zero outside of the loop and
// stays so. It is counted as completed after that reference is given back, see thence_stats().
[[gnu::always_inline]] inline void run_alone(continuation &c, continuation_request *cr) noexcept {
    this_thread.current = cr;
    run_one(c);
    continuations.level(this_thread.stock, 1);
}

} // namespace

int settle(continuation &c, control_word kind) noexcept {
    int error = MPI_SUCCESS;
    for_each_operation(c, kind, [&](engine::operation &op) {
        if (op.how != engine::tending::done) {
            engine::current->finish(op);
        }
        error = error == MPI_SUCCESS ? op.error : error;
    });
    return error;
}

void discard(continuation &c) noexcept {
    continuation_request &cr = *c.cr;
    const control_word kind = c.control();
    c.set_control(phase::free, std::memory_order_relaxed);
    if (!kind.is(control_word::single)) {
        groups.give(this_thread.group_stock, &c.of_group());
    }
    continuations.give(this_thread.stock, &c);
    cr.unregister();
}

void run(continuation &c) noexcept {
    c.set_control(c.control().with(phase::attached), std::memory_order_release);
    continuation_request *cr = c.cr;
    running_scope running;
    run_alone(c, cr);
    cr->release();
    this_thread.counts.completed.add();
}

// The callback alone. What remains is left to give_back_completed(): a request that is released here may be the last
// that holds its communicator, and MPI goes on to use that.
bool run_in_completion(continuation &c) noexcept {
    const control_word kind = c.control();
    if (!this_thread.only_in_progress() || !engine::is_plain(c.first.request) || kind.at() != phase::attached ||
        !c.change_control(kind, phase::free)) {
        return false;
    }
    this_thread.current = c.cr;
    {
        running_scope running;
        engine::try_take(c.first.request, c.first.status);
        if (const int result = invoke(c, kind.form(), MPI_SUCCESS); result != MPI_SUCCESS) [[unlikely]] {
            note_failure(c, MPI_SUCCESS, result);
        }
    }
    c.next = nullptr;
    (this_thread.completed == nullptr ? this_thread.completed : this_thread.last_completed->next) = &c;
    this_thread.last_completed = &c;
    return true;
}

namespace {

__attribute__((noinline)) void give_back_completed() noexcept {
    const busy_scope giving_back; // what frees a communicator may call functions of the user's
    continuation *c = this_thread.completed;
    this_thread.completed = nullptr;
    for (continuation *next = nullptr; c != nullptr; c = next) {
        next = c->next;
        continuation_request *cr = c->cr;
        engine::release(c->first.request);
        continuations.give(this_thread.stock, c);
        cr->release();
        this_thread.counts.completed.add();
    }
}

} // namespace

namespace {

// Mostly one continuation is ready: that needs no loop. Returns how many ran.
[[gnu::always_inline]] inline long run_from(base::ready_queue<continuation> &queue, long limit) noexcept {
    continuation *c = queue.pop_newcomer();
    if (c == nullptr) [[unlikely]] {
        return run_queue(queue, limit);
    }
    {
        const bool alone = !others_may_attach.load(std::memory_order_relaxed);
        running_scope running(alone);
        run_alone(*c, c->cr);
        if (alone) {
            this_thread.current->release_alone();
        } else {
            this_thread.current->release();
        }
        this_thread.counts.completed.add();
    }
    return queue.glance() == 0 || limit == 1 ? 1 : 1 + run_queue(queue, limit == LONG_MAX ? limit : limit - 1);
}

} // namespace

long run_some_ready(long limit) noexcept {
    if (!free_to_run()) {
        return 0;
    }
    long ran = 0;
    if (application_queue.glance() != 0 && !this_thread.helper) {
        ran = run_from(application_queue, limit);
    }
    if (any_thread_queue.glance() != 0 && ran != limit) {
        ran += run_from(any_thread_queue, limit - ran);
    }
    return ran;
}

namespace {

void find_more() noexcept {
    if (!engine::current->quiet()) {
        const busy_scope polling;
        engine::current->poll();
    }
}

__attribute__((noinline)) int find_and_run() noexcept {
    find_more();
    const long ran = run_ready(most_in_hook);
    if (ran == 0) {
        progress::hook_found_nothing();
    }
    return static_cast<int>(ran);
}

} // namespace

// MPI calls this each time it looks for messages, hundreds of times for each that comes. While we wait ourselves it
// must not even look at what is ready: that comes as a surprise to the processor, and costs as much as all else here.
int on_progress() noexcept {
    if (this_thread.enlisted() && !this_thread.free_to_run()) {
        return 0;
    }
    if (something_to_do() && free_to_run()) [[unlikely]] {
        return find_and_run();
    }
    progress::hook_found_nothing();
    return 0;
}

void find() noexcept {
    if (free_to_run()) {
        if (!engine::current->poll_progresses()) {
            find_more();
        }
        progress::hook_found_nothing();
    }
}

void let_mpi_progress(bool may_complete) noexcept {
    if (this_thread.in_completion()) [[unlikely]] {
        return;
    }
    if (!engine::push_enabled || !may_complete) {
        const busy_scope polling;
        engine::current->progress();
        return;
    }
    {
        const progress_scope in_mpi; // and in no lock of the engine's
        mpi::table.opal_progress();
    }
    if (this_thread.completed != nullptr) [[unlikely]] {
        give_back_completed();
    }
    find_more();
}

long progress() noexcept {
    const unsigned long long before = this_thread.counts.completed.get();
    let_mpi_progress();
    return static_cast<long>(this_thread.counts.completed.get() - before) + run_ready(LONG_MAX);
}

long run_some_own(continuation_request &cr) noexcept {
    if (!free_to_run()) {
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
    return cr.idle() ? report_complete(cr) : test_result{};
}

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

static thread_local constinit standstill waiting_inside;

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
