// SPDX-License-Identifier: BSD-3-Clause
#include "core/continuation/complete.hpp"

#include "core/continuation/observe.hpp"
#include "core/continuation/request.hpp"
#include "core/continuation/run.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/engine/engine.hpp"
#include "core/progress/progress.hpp"

namespace thence::continuation {

namespace {

constexpr int ours = 1; // return value of a push callback: MPI must not touch the request again

bool run_in_completion(continuation &c) noexcept;

__attribute__((noinline)) int special_complete(continuation &c) noexcept {
    if (!c.cr->has(THENCE_CR_IN_COMPLETION) || !run_in_completion(c)) {
        make_ready(c);
    }
    return ours;
}

} // namespace

int single_complete(void *request) noexcept {
    auto *c = static_cast<continuation *>(engine::accept_pushed(request));
    if (c->cr->is_special()) [[unlikely]] {
        return special_complete(*c);
    }
    c->cr->current_queue().push(c);
    return ours;
}

void make_ready(continuation &c) noexcept {
    if (c.cr->may_park()) [[unlikely]] {
        c.cr->enqueue_or_park(&c);
    } else {
        c.cr->current_queue().push(&c);
    }
}

int request_complete(void *request) noexcept {
    auto &op = *static_cast<engine::operation *>(engine::accept_pushed(request));
    if (!op.in_group) {
        return special_complete(owner_of(op));
    }
    operation_complete(op);
    return ours;
}

void operation_complete(engine::operation &op) noexcept {
    continuation &c = owner_of(op);
    if (!op.in_group) {
        make_ready(c);
        return;
    }
    if (c.of_group().remaining.fetch_sub(1, std::memory_order_acq_rel) != 1) {
        return;
    }
    if (observing != nullptr) [[unlikely]] {
        observing->ready(c);
    }
    make_ready(c);
}

namespace {

// Runs the callback of `c` in MPI's completion path if it may run there. Else it returns false and changes nothing.
// The request is not released here: it may hold the last reference to its communicator, which MPI uses after the
// callback has returned. give_back_completed() releases it.
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
        const int result = invoke(c, kind.form(), MPI_SUCCESS);
        finish_callback(c, kind, MPI_SUCCESS, result);
    }
    c.next = nullptr;
    (this_thread.completed == nullptr ? this_thread.completed : this_thread.last_completed->next) = &c;
    this_thread.last_completed = &c;
    return true;
}

} // namespace

void give_back_completed() noexcept {
    const busy_scope giving_back; // freeing a communicator may call attribute functions of the user
    continuation *c = this_thread.completed;
    this_thread.completed = nullptr;
    for (continuation *next = nullptr; c != nullptr; c = next) {
        next = c->next;
        continuation_request *cr = c->cr;
        engine::release(c->first.request);
        continuations.give(this_thread.cache, c);
        cr->release();
        this_thread.counts.completed.add();
    }
}

namespace {

// True if the attaching call is the only reason why this thread may not run continuations.
bool attaching_only() noexcept {
    return this_thread.busy == thread_state::enlisted_mark + 1;
}

// Gives back a continuation that will not run.
void discard(continuation &c) noexcept {
    continuation_request &cr = *c.cr;
    const control_word kind = c.control();
    c.set_control(phase::free, std::memory_order_relaxed);
    if (!kind.is(control_word::single)) {
        groups.give(this_thread.group_cache, &c.of_group());
    }
    continuations.give(this_thread.cache, &c);
    cr.unregister();
}

} // namespace

int complete_at_once(continuation &c, bool may_run, int *flag) noexcept {
    continuation_request &cr = *c.cr;
    const bool runs = may_run || cr.has(THENCE_CR_ENQUEUE_COMPLETE);
    const control_word kind = c.control();
    if (observing != nullptr) [[unlikely]] {
        (runs ? observing->ready : observing->withdrawn)(c);
    }
    *flag = runs ? 0 : 1;
    if (may_run && cr.active() && !cr.has(THENCE_CR_POLL_ONLY) && attaching_only()) {
        run_now(c);
        return MPI_SUCCESS;
    }
    if (runs) {
        c.set_control(kind.with(phase::attached), std::memory_order_release);
        make_ready(c);
        progress::engage();
        return MPI_SUCCESS;
    }
    int error = settle(c, kind);
    if (error != MPI_SUCCESS && !kind.is(control_word::single) && c.of_group().count > 1) {
        error = MPI_ERR_IN_STATUS;
    }
    discard(c);
    this_thread.counts.immediate.add();
    return error;
}

} // namespace thence::continuation
