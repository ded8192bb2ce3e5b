// SPDX-License-Identifier: BSD-3-Clause
#include "continuation/attach.hpp"

#include "continuation/interposing.hpp"
#include "continuation/observe.hpp"
#include "continuation/run_one.hpp"
#include "continuation/thread_state.hpp"
#include "engine/engine.hpp"
#include "mpi/calls.hpp"
#include "mpi/persistent.hpp"
#include "progress/progress.hpp"

#include <new>

namespace thence::continuation {

base::pool<continuation> continuations;
base::pool<group> groups;

bool group::reserve(int n) noexcept {
    if (n > capacity) {
        auto *more = new (std::nothrow) member[static_cast<std::size_t>(n)];
        if (more == nullptr) {
            return false;
        }
        delete[] members;
        members = more;
        capacity = n;
    }
    return true;
}

namespace {

__attribute__((noinline)) void member_complete(continuation &c) noexcept {
    if (c.of_group().remaining.fetch_sub(1, std::memory_order_acq_rel) != 1) {
        return;
    }
    if (observing != nullptr) [[unlikely]] {
        observing->ready(c);
    }
    c.cr->enqueue(&c);
}

} // namespace

// Each way ends with a call, so that none saves a register for another.
void operation_complete(engine::operation &op) noexcept {
    continuation &c = owner_of(op);
    if (op.in_group) {
        member_complete(c);
        return;
    }
    c.cr->enqueue(&c);
}

namespace {

// A last call of single_complete(), so that its common end saves nothing.
[[maybe_unused]] __attribute__((noinline)) int special_complete(continuation &c) noexcept {
    if (!c.cr->has(THENCE_CR_IN_COMPLETION) || !run_in_completion(c)) {
        c.cr->enqueue(&c);
    }
    return 1;
}

// Takes what try_push() stored, and marks the request complete. That comes before it is reported: whoever runs the
// continuation may release the request at once.
[[maybe_unused, gnu::always_inline]] inline void *accept(void *object) noexcept {
#if defined(OPEN_MPI)
    const engine::openmpi::request_view request(object);
    // MPI read the callback slot with a plain load: what was stored before the slot must not be read before it.
    std::atomic_thread_fence(std::memory_order_acquire);
    void *data = request.callback_data().load(std::memory_order_relaxed);
    request.callback_data().store(nullptr, std::memory_order_relaxed); // see push.hpp
    request.complete().store(engine::openmpi::completed, std::memory_order_release);
    return data;
#else
    return object;
#endif
}

} // namespace

int single_complete(void *object) noexcept {
    auto *c = static_cast<continuation *>(accept(object));
    if (c->cr->is_special()) [[unlikely]] {
        return special_complete(*c);
    }
    c->cr->enqueue_ordinary(c);
    return 1;
}

int request_complete(void *object) noexcept {
    auto &op = *static_cast<engine::operation *>(accept(object));
    if (!op.in_group && owner_of(op).cr->is_special()) {
        return special_complete(owner_of(op));
    }
    operation_complete(op);
    return 1;
}

namespace {

using engine::outcome;
using engine::tending;

MPI_Status *status_slot(MPI_Status statuses[], int i) noexcept {
    return statuses == MPI_STATUSES_IGNORE || !engine::wanted(statuses) ? MPI_STATUS_IGNORE : statuses + i;
}

// Starts to watch `request`, and takes it from the user unless it stays usable.
outcome watch(engine::operation &op, MPI_Request &request, unsigned flags) noexcept {
    op.request = request;
    if (request == MPI_REQUEST_NULL) {
        set_empty_results(op, MPI_SUCCESS);
        op.how = tending::done;
        return outcome::complete;
    }
    if (is_cr_handle(request)) {
        op.how = tending::waiting; // the CR sets the results
        return continuation_request::from(request)->add_waiter(op) ? outcome::pending : outcome::complete;
    }
    if ((flags & THENCE_PERSISTENT) != 0 || mpi::noted_persistent(request) || engine::current->is_persistent(request)) {
        const outcome result = engine::current->watch(op, true);
        if (result == outcome::pending || engine::current->polled.has_answers()) {
            attention.fetch_or(engine::requests_tell_persistent ? attention_kept : attention_kept | attention_hidden,
                               std::memory_order_relaxed);
        }
        return result;
    }
    request = MPI_REQUEST_NULL;
    return engine::current->watch(op, false);
}

attach_result attached(continuation &c, control_word how) noexcept {
    c.set_control(how, std::memory_order_release);
    progress::engage();
    return {};
}

// Attaches a group; null when memory is exhausted, before anything has happened.
group *take_group(int count) noexcept {
    group *g = groups.take(this_thread.group_stock);
    if (g != nullptr && !g->reserve(count)) {
        groups.give(this_thread.group_stock, g);
        return nullptr;
    }
    return g;
}

// Nothing but the attaching call itself keeps continuations from running here.
bool attaching_only() noexcept {
    return this_thread.busy == thread_state::enlisted_mark + 1;
}

} // namespace

attach_result complete_at_once(continuation &c, bool may_run) noexcept {
    attach_result result;
    continuation_request &cr = *c.cr;
    const bool runs = may_run || cr.has(THENCE_CR_ENQUEUE_COMPLETE);
    const control_word kind = c.control();
    if (observing != nullptr) [[unlikely]] {
        (runs ? observing->ready : observing->withdrawn)(c);
    }
    if (may_run && cr.active() && !cr.has(THENCE_CR_POLL_ONLY) && attaching_only()) {
        run(c);
    } else if (runs) {
        c.set_control(kind.with(phase::attached), std::memory_order_release);
        cr.enqueue(&c);
        progress::engage();
    } else {
        result.flag = 1;
        result.error = settle(c, kind);
        if (result.error != MPI_SUCCESS && !kind.is(control_word::single) && c.of_group().count > 1) {
            result.error = MPI_ERR_IN_STATUS;
        }
        discard(c);
        this_thread.counts.immediate.add();
    }
    return result;
}

attach_result attach(int count, MPI_Request requests[], const attachment &what, MPI_Status statuses[],
                     continuation_request &cr) noexcept {
    busy_scope attaching; // MPI may run our hook while we ask it whether an operation is complete
    if (!this_thread.enlisted()) [[unlikely]] {
        enlist_this_thread(); // a thread without a stock comes here, so this sees every thread
    }
    continuation *c = continuations.take(this_thread.stock);
    if (c == nullptr) [[unlikely]] {
        return {0, MPI_ERR_NO_MEM};
    }
    const bool single = count == 1 && observing == nullptr && (what.flags & THENCE_PERSISTENT) == 0 &&
                        is_common(requests[0]) && !engine::current->is_persistent(requests[0]);
    group *g = single ? nullptr : take_group(count);
    if (!single && g == nullptr) [[unlikely]] {
        continuations.give(this_thread.stock, c);
        return {0, MPI_ERR_NO_MEM};
    }
    c->callback = what.callback;
    c->data = what.data;
    c->cr = &cr;
    c->where = what.where;
    c->first.status = statuses;
    const bool may_run = (what.flags & THENCE_MAY_RUN) != 0;
    const control_word kind = control_of(phase::attached, what, single ? control_word::single : 0U);
    c->set_control(kind.with(phase::attaching), std::memory_order_relaxed);
    if (single) {
        c->first.error = MPI_SUCCESS;
        cr.acquire();
        return watch(c->first, requests[0], what.flags) == outcome::complete ? complete_at_once(*c, may_run)
                                                                             : attached(*c, kind);
    }
    c->first.link = g;
    g->count = count;
    g->remaining.store(count + 1, std::memory_order_relaxed);
    cr.acquire();
    if (observing != nullptr) [[unlikely]] {
        observing->attached(*c);
    }
    int complete = 1;
    for (int i = 0; i < count; ++i) {
        member &op = g->members[i];
        op.owner = c;
        op.in_group = true;
        op.status = status_slot(statuses, i);
        op.error = MPI_SUCCESS;
        complete += watch(op, requests[i], what.flags) == outcome::complete ? 1 : 0;
    }
    if (g->remaining.fetch_sub(complete, std::memory_order_acq_rel) == complete) {
        return complete_at_once(*c, may_run);
    }
    return attached(*c, kind);
}

namespace {

// Gives back what begin_single() took.
void undo_begin(continuation &c) noexcept {
    c.set_control(phase::free, std::memory_order_relaxed);
    ++this_thread.stock.count;
    c.cr->unregister();
}

} // namespace

bool finish_refused() noexcept {
    continuation &c = *this_thread.stock.head;
    if (c.control().is(control_word::may_run) || c.cr->has(THENCE_CR_ENQUEUE_COMPLETE) ||
        !engine::try_finish_complete(c.first.request, c.first.status)) {
        return false;
    }
    undo_begin(c);
    this_thread.counts.immediate.add();
    return true;
}

withdrawn withdraw(MPI_Request &request) noexcept {
    continuation &c = *this_thread.stock.head;
    const control_word kind = c.control();
    const unsigned flags = (kind.is(control_word::invoke_failed) ? THENCE_INVOKE_FAILED : 0U) |
                           (kind.is(control_word::may_run) ? THENCE_MAY_RUN : 0U);
    const withdrawn result{{c.callback, c.data, kind.form(), flags, c.where}, c.first.status, c.cr->handle()};
    request = c.first.request;
    undo_begin(c);
    return result;
}

} // namespace thence::continuation
