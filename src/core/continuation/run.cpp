// SPDX-License-Identifier: BSD-3-Clause
// In this order: running one continuation of the common kinds, running a queue, polling, the functions that the C API
// calls, and running a continuation of any kind.
#include "core/continuation/run.hpp"

#include "core/base/spin_lock.hpp"
#include "core/continuation/complete.hpp"
#include "core/continuation/observe.hpp"
#include "core/continuation/owned_data.hpp"
#include "core/engine/engine.hpp"
#include "core/progress/catch_up.hpp"
#include "core/progress/progress.hpp"

#include <climits>

namespace thence::continuation {

std::atomic<std::uint64_t> unread_count{0};
std::atomic<std::uint64_t> *callback_count = &unread_count;

namespace {

// Runs a continuation of any kind and releases its requests and its group. The caller gives back the object and the
// CR's reference. `kind`: the control word that take_control() returned. The thread is in a running_scope.
void run_general(continuation &c, control_word kind) noexcept;

constexpr control_word pushed_single(signature form) noexcept {
    return {phase::attached, form, control_word::single | control_word::pushed};
}

// Runs one continuation and releases its request. The caller gives back the object and the CR's reference. The thread
// is in a running_scope.
//
// The request is released after the callback, so that a send in the callback need not wait for the release. So if a
// callback posts the next receive, one more request is in use than operations are outstanding.
[[gnu::always_inline]] inline void run_one(continuation &c) noexcept {
    this_thread.current = c.cr;
    const control_word kind = c.take_control(); // from attached to free: no visitor looks at a running continuation
    if (kind == pushed_single(signature::paper) && engine::try_take(c.first.request, c.first.status)) [[likely]] {
        reinterpret_cast<void (*)(MPI_Status *, void *)>(c.callback)(c.first.status, c.data);
        engine::release(c.first.request);
    } else if (kind.without(control_word::invoke_failed) == pushed_single(signature::own) &&
               engine::try_take(c.first.request, c.first.status)) { // it has not failed
        const int result = reinterpret_cast<thence_callback *>(c.callback)(MPI_SUCCESS, c.first.status, c.data);
        engine::release(c.first.request);
        if (result != MPI_SUCCESS) [[unlikely]] {
            note_failure(c, MPI_SUCCESS, result);
        }
    } else if (kind.is_polled_single() && path_of(c.first) == engine::completion_path::done &&
               c.first.error == MPI_SUCCESS) {
        // path_of() reads one byte. Else GCC joins both comparisons: 8 bytes, with the control word that visitors
        // touch.
        if (const int result = invoke(c, kind.form(), MPI_SUCCESS); result != MPI_SUCCESS) [[unlikely]] {
            note_failure(c, MPI_SUCCESS, result);
        }
    } else if (kind.without(control_word::invoke_failed) == pushed_single(signature::each) &&
               engine::try_take(c.first.request, c.first.status)) {
        const int result = reinterpret_cast<thence_each_callback *>(c.callback)(index_of(c.attached_by), MPI_SUCCESS,
                                                                                c.first.status, c.data);
        engine::release(c.first.request);
        if (result != MPI_SUCCESS) [[unlikely]] {
            note_failure(c, MPI_SUCCESS, result);
        }
    } else {
        run_general(c, kind);
    }
}

// The caller has checked that this thread may run continuations. The CR is released after its continuation has run, so
// it cannot become idle before.
long run_queue(base::ready_queue<continuation> &queue, long limit) noexcept {
    continuation *c = limit > 0 ? queue.pop() : nullptr;
    if (c == nullptr) {
        return 0;
    }
    const running_scope running;
    long left = limit;
    do {
        run_one(*c);
        continuation_request *cr = c->cr;
        continuations.give_one_of_many(this_thread.cache, c);
        cr->release();
        this_thread.counts.completed.add();
        --left;
    } while (left != 0 && (c = queue.pop()) != nullptr);
    const long ran = limit - left;
    continuations.level(this_thread.cache, static_cast<unsigned>(ran));
    return ran;
}

// Asks the engine which operations are complete. Nothing is asked while the engine is quiet(): no operation waits to be
// polled, and none was completed without a call of our callback.
void find_completions() noexcept {
    if (!engine::current->quiet()) {
        const busy_scope polling;
        engine::current->poll();
    }
}

// MPI calls this in its own progress, hundreds of times for each message. It does nothing if this thread is in a scope
// of ours, where run_ready() would run nothing. A scope in which we let MPI make progress finds completions once, after
// MPI has returned. Outside all scopes `busy` is 0 for a thread that has not attached or run anything yet, and
// free_to_run() is true for any other: both may poll.
bool poll_in_hook(bool may_poll) noexcept {
    if (this_thread.busy != 0 && !this_thread.free_to_run()) {
        return false;
    }
    if (may_poll) {
        find_completions();
    }
    return any_ready();
}

// Lets MPI make progress and finds completions. Callbacks may run in MPI's completion path meanwhile, unless this
// thread is busy or is the helper thread.
bool progress_and_poll() noexcept {
    if (this_thread.in_completion()) [[unlikely]] {
        return false; // the callback may have interrupted MPI's progress at any point
    }
    if (!engine::push_enabled || progress::on_helper_thread) {
        const busy_scope polling;
        engine::current->progress();
        return any_ready();
    }
    {
        const progress_scope in_mpi;
        engine::current->let_mpi_progress();
    }
    if (this_thread.completed != nullptr) [[unlikely]] {
        give_back_completed();
    }
    find_completions();
    return any_ready();
}

bool poll(progress::polled_from where) noexcept {
    switch (where) {
    case progress::polled_from::outside:
        return progress_and_poll();
    case progress::polled_from::after_progress:
        find_completions();
        return any_ready();
    case progress::polled_from::hook:
        return poll_in_hook(true);
    default:
        return poll_in_hook(!engine::current->poll_progresses());
    }
}

bool outstanding() noexcept {
    return continuation_request::any_registered();
}

} // namespace

const progress::source as_source{"continuations", &outstanding, &poll, &run_ready};

long run_ready(long limit) noexcept {
    if (!free_to_run()) {
        return 0;
    }
    long ran = 0;
    if (!progress::on_helper_thread) {
        ran = run_queue(application_queue, limit);
    }
    if (!any_thread_queue.empty()) {
        ran += run_queue(any_thread_queue, limit - ran);
    }
    return ran;
}

long run_own(continuation_request &cr) noexcept {
    const long limit = cr.max_poll() < 0 ? LONG_MAX : cr.max_poll();
    const long ran = cr.has(THENCE_CR_POLL_ONLY) && free_to_run() ? run_queue(cr.own_queue(), limit) : 0;
    return ran + run_ready(limit - ran);
}

bool something_to_do() noexcept {
    return any_ready() || !engine::current->quiet();
}

// Other sources are polled after ours has let MPI make progress: once is enough. What is ready of ours runs first.
long make_progress() noexcept {
    const unsigned long long before = this_thread.counts.completed.get();
    poll(progress::polled_from::outside);
    progress::poll_sources(progress::polled_from::after_progress, &as_source);
    const auto in_progress = static_cast<long>(this_thread.counts.completed.get() - before);
    const long ran = run_ready(LONG_MAX);
    return in_progress + ran + progress::run_sources(LONG_MAX, &as_source);
}

void make_progress_or_pause(thence_backoff &backoff) noexcept {
    if (make_progress() != 0) {
        progress::found(backoff);
    } else {
        progress::pause_and_catch_up(backoff);
    }
}

bool run_last_of(MPI_Request cr) noexcept {
    if (!this_thread.free_to_run()) [[unlikely]] { // so this is not the helper thread, which waits only in callbacks
        return false;
    }
    continuation *c = application_queue.pop();
    if (c == nullptr) [[unlikely]] {
        return false;
    }
    continuation_request *owner = c->cr;
    if (owner->handle() != cr || !owner->live()) [[unlikely]] {
        application_queue.put_back(c);
        return false;
    }
    bool last = false;
    {
        const running_scope running;
        run_one(*c);
        continuations.give(this_thread.cache, c);
        const bool simple = owner->waits_simply(); // after the release the object may be another CR
        last = owner->release() && simple;
    }
    this_thread.counts.completed.add();
    if (last) [[likely]] {
        owner->set_reported(true);
    }
    return last;
}

// What follows runs a continuation of any kind.

int settle(continuation &c, control_word kind) noexcept {
    int error = MPI_SUCCESS;
    for_each_operation(c, kind, [&](engine::operation &op) {
        if (op.path != engine::completion_path::done) {
            engine::current->finish(op);
        }
        error = error == MPI_SUCCESS ? op.error : error;
    });
    return error;
}

int invoke(const continuation &c, signature form, int error) noexcept {
    switch (form) {
    case signature::own:
    case signature::own_with_copied_data: // form() never returns it
        return reinterpret_cast<thence_callback *>(c.callback)(error, c.statuses(), c.data);
    case signature::each:
        return reinterpret_cast<thence_each_callback *>(c.callback)(index_of(c.attached_by), error, c.statuses(),
                                                                    c.data);
    case signature::paper:
        reinterpret_cast<void (*)(MPI_Status *, void *)>(c.callback)(c.statuses(), c.data);
        return MPI_SUCCESS;
    case signature::forum:
        return reinterpret_cast<int (*)(int, void *)>(c.callback)(error, c.data);
    }
    return MPI_SUCCESS;
}

void note_failure(const continuation &c, int error, int result, bool owns_data) noexcept {
    this_thread.counts.failed.add();
    if (c.cr->has(THENCE_CR_REPORT_FAILED)) {
        c.cr->add_failed({c.data, owns_data}, result != MPI_SUCCESS ? result : error, error != MPI_SUCCESS);
    }
}

void finish_callback(const continuation &c, control_word kind, int error, int result) noexcept {
    const bool failed = result != MPI_SUCCESS || error != MPI_SUCCESS;
    if (failed) [[unlikely]] {
        note_failure(c, error, result, kind.is(control_word::owns_data));
    }
    if (kind.is(control_word::owns_data) && !(failed && c.cr->has(THENCE_CR_REPORT_FAILED))) {
        release_data(c.data);
    }
}

namespace {

// The continuation is still inside attach() on another thread, or a visitor looks at it. Both are brief and end with
// `attached`. A visitor may then change the phase before this thread does, so this thread needs a compare-and-swap. Our
// own take_control() has stored `free`; the attaching thread or the visitor overwrites that.
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

// True for a failed continuation whose CR keeps such for thence_get_failed(). It does not run, unless it was attached
// with THENCE_INVOKE_FAILED.
bool is_kept_as_failed(const continuation &c, control_word kind, int error) noexcept {
    return error != MPI_SUCCESS && c.cr->has(THENCE_CR_REPORT_FAILED) && !kind.is(control_word::invoke_failed);
}

__attribute__((noinline)) void run_general(continuation &c, control_word kind) noexcept {
    if (kind.at() != phase::attached) [[unlikely]] {
        kind = wait_until_attached(c);
    }
    if (kind.is(control_word::pushed)) {
        c.first.path = engine::completion_path::pushed; // attach_single() does not set these, since few cases need them
        c.first.error = MPI_SUCCESS;
    }
    const int error = settle(c, kind);
    const bool runs = !is_kept_as_failed(c, kind, error);
    const std::uint64_t started = runs && observing != nullptr ? observing->begin(c) : 0;
    const int result = runs ? invoke(c, kind.form(), error) : error;
    if (observing != nullptr) [[unlikely]] {
        observing->end(c, started, result);
    }
    finish_callback(c, kind, error, result);
    if (!kind.is(control_word::single)) {
        groups.give(this_thread.group_cache, &c.of_group());
    }
}

} // namespace

void run_now(continuation &c) noexcept {
    continuation_request *cr = c.cr;
    {
        running_scope running;
        this_thread.current = cr;
        run_general(c, c.take_control().with(phase::attached));
    }
    continuations.give(this_thread.cache, &c);
    cr->release();
    this_thread.counts.completed.add();
}

} // namespace thence::continuation
