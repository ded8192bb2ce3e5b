// SPDX-License-Identifier: BSD-3-Clause
// In this order: running one continuation of the common kinds, running a queue, polling, and the functions that the C
// API calls.
#include "continuation/run.hpp"

#include "continuation/complete.hpp"
#include "continuation/run_general.hpp"
#include "engine/engine.hpp"
#include "progress/progress.hpp"

#include <climits>

namespace thence::continuation {

namespace {

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
    } else if (kind == pushed_single(signature::own) && engine::try_take(c.first.request, c.first.status)) {
        const int result = reinterpret_cast<thence_callback *>(c.callback)(MPI_SUCCESS, c.first.status, c.data);
        engine::release(c.first.request);
        if (result != MPI_SUCCESS) [[unlikely]] {
            note_failure(c, MPI_SUCCESS, result);
        }
    } else if (kind.is_polled_single() && c.first.path == engine::completion_path::done &&
               c.first.error == MPI_SUCCESS) {
        if (const int result = invoke(c, kind.form(), MPI_SUCCESS); result != MPI_SUCCESS) [[unlikely]] {
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
        continuations.give_one_of_many(this_thread.stock, c);
        cr->release();
        this_thread.counts.completed.add();
        --left;
    } while (left != 0 && (c = queue.pop()) != nullptr);
    const long ran = limit - left;
    continuations.level(this_thread.stock, static_cast<unsigned>(ran));
    return ran;
}

void find_completions() noexcept {
    if (!engine::current->quiet()) {
        const busy_scope polling;
        engine::current->poll();
    }
}

// MPI calls this in its own progress, hundreds of times for each message. It does nothing if this thread is in a scope
// of ours, where run_ready() would run nothing. A scope in which we let MPI make progress finds completions once, after
// MPI has returned. A thread that is not enlisted and in no scope has `busy` 0; it may poll.
bool poll_in_hook(bool may_poll) noexcept {
    if (this_thread.busy != 0 && !this_thread.free_to_run()) {
        return false;
    }
    if (may_poll) {
        find_completions();
    }
    return any_ready();
}

// Callbacks may run in MPI's completion path meanwhile, unless this thread is busy or is the helper thread.
bool let_mpi_progress() noexcept {
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

bool poll(progress::from where) noexcept {
    switch (where) {
    case progress::from::outside:
        return let_mpi_progress();
    case progress::from::after_progress:
        find_completions();
        return any_ready();
    case progress::from::hook:
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

long make_progress() noexcept {
    const unsigned long long before = this_thread.counts.completed.get();
    progress::poll_sources(progress::from::outside);
    const auto in_progress = static_cast<long>(this_thread.counts.completed.get() - before);
    return in_progress + progress::run_sources(LONG_MAX);
}

bool run_last_of(MPI_Request cr) noexcept {
    if (!this_thread.free_to_run()) [[unlikely]] { // so this is not the helper thread, which waits only in callbacks
        return false;
    }
    continuation *c = application_queue.pop();
    if (c == nullptr) [[unlikely]] {
        return false;
    }
    continuation_request *its = c->cr;
    if (its->handle() != cr || !its->live()) [[unlikely]] {
        application_queue.put_back(c);
        return false;
    }
    bool last = false;
    {
        const running_scope running;
        run_one(*c);
        continuations.give(this_thread.stock, c);
        const bool simple = its->waits_simply(); // after the release the object may be another CR
        last = its->release() && simple;
    }
    this_thread.counts.completed.add();
    if (last) [[likely]] {
        its->set_reported(true);
    }
    return last;
}

} // namespace thence::continuation
