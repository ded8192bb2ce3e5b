// SPDX-License-Identifier: BSD-3-Clause
#include "continuation/attach.hpp"

#include "continuation/interposing.hpp"
#include "continuation/observe.hpp"
#include "continuation/run.hpp"
#include "continuation/thread_state.hpp"
#include "engine/engine.hpp"
#include "mpi/calls.hpp"
#include "mpi/persistent.hpp"
#include "progress/progress.hpp"

#include <new>

namespace thence::continuation {

base::pool<continuation> continuations;

bool continuation::reserve(int n) noexcept {
    if (n > others_capacity) {
        auto *more = new (std::nothrow) engine::operation[static_cast<std::size_t>(n)];
        if (more == nullptr) {
            return false;
        }
        delete[] others;
        others = more;
        others_capacity = n;
    }
    return true;
}

void continuation::expand() noexcept {
    first = {request, statuses == MPI_STATUS_IGNORE ? nullptr : statuses, this, MPI_SUCCESS, engine::tending::pushed};
    count = 1;
}

void operation_complete(engine::operation &op) noexcept {
    auto &c = *static_cast<continuation *>(op.owner);
    if (c.count == 1 || c.remaining.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        if (observing != nullptr) [[unlikely]] {
            observing->ready(c);
        }
        c.cr->enqueue(&c);
    }
}

namespace {

using engine::outcome;
using engine::tending;

MPI_Status *status_slot(MPI_Status statuses[], int i) noexcept {
    return statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE ? nullptr : statuses + i;
}

outcome complete_empty(engine::operation &op) noexcept {
    if (op.status != nullptr) {
        *op.status = mpi::empty_status();
    }
    op.error = MPI_SUCCESS;
    op.how = tending::done;
    return outcome::complete;
}

// The requests that are neither null nor plain: continuation requests, and persistent ones.
__attribute__((noinline)) outcome watch_special(engine::operation &op, bool persistent) noexcept {
    if (is_cr_handle(op.request)) {
        op.how = tending::waiting;
        op.error = MPI_SUCCESS;
        if (op.status != nullptr) {
            *op.status = mpi::empty_status();
        }
        return continuation_request::from(op.request)->add_waiter(op) ? outcome::pending : outcome::complete;
    }
    const outcome result = engine::current->watch(op, persistent);
    if (result == outcome::pending) {
        attention.fetch_or(attention_kept, std::memory_order_relaxed);
    }
    return result;
}

// Starts to watch `request`, and takes it from the user unless it stays usable.
outcome watch(engine::operation &op, MPI_Request &request, MPI_Status *status, continuation &c,
              unsigned flags) noexcept {
    op.request = request;
    op.status = status;
    op.owner = &c;
    op.error = MPI_SUCCESS;
    if (request == MPI_REQUEST_NULL) [[unlikely]] {
        return complete_empty(op);
    }
    const bool persistent = (flags & THENCE_PERSISTENT) != 0 || mpi::noted_persistent(request) ||
                            (!is_cr_handle(request) && engine::current->is_persistent(request));
    if (persistent || is_cr_handle(request)) [[unlikely]] {
        return watch_special(op, persistent);
    }
    request = MPI_REQUEST_NULL;
    return engine::current->watch(op, false);
}

attach_result complete_at_once(continuation &c, const attachment &what) noexcept {
    attach_result result;
    continuation_request &cr = *c.cr;
    const bool may_run = (what.flags & THENCE_MAY_RUN) != 0;
    const bool runs = may_run || cr.has(THENCE_CR_ENQUEUE_COMPLETE);
    if (observing != nullptr) [[unlikely]] {
        (runs ? observing->ready : observing->withdrawn)(c);
    }
    if (may_run && cr.active() && !cr.has(THENCE_CR_POLL_ONLY) && this_thread.busy == 1) {
        run(c);
    } else if (runs) {
        c.control.store(c.control.load(std::memory_order_relaxed).with(phase::attached), std::memory_order_release);
        cr.enqueue(&c);
        progress::engage();
    } else {
        result.flag = 1;
        result.error = settle(c);
        if (result.error != MPI_SUCCESS && c.count > 1) {
            result.error = MPI_ERR_IN_STATUS;
        }
        discard(c);
        this_thread.counts.immediate.add();
    }
    return result;
}

} // namespace

attach_result attach(int count, MPI_Request requests[], const attachment &what, MPI_Status statuses[],
                     continuation_request &cr) noexcept {
    busy_scope attaching; // MPI may run our hook while we ask it whether an operation is complete
    if (!this_thread.enlisted) [[unlikely]] {
        enlist_this_thread(); // a thread without a stock comes here, so this sees every thread
    }
    continuation *c = continuations.take(this_thread.stock);
    if (c == nullptr) [[unlikely]] {
        return {0, MPI_ERR_NO_MEM};
    }
    if (count > 1 && !c->reserve(count)) [[unlikely]] {
        continuations.give(this_thread.stock, c);
        return {0, MPI_ERR_NO_MEM};
    }
    c->callback = what.callback;
    c->data = what.data;
    c->statuses = statuses;
    c->cr = &cr;
    c->where = what.where;
    c->count = count;
    const control_word attached(phase::attached, what.form, false, (what.flags & THENCE_INVOKE_FAILED) != 0);
    c->control.store(attached.with(phase::attaching), std::memory_order_relaxed);
    cr.acquire();
    if (observing != nullptr) [[unlikely]] {
        observing->attached(*c);
    }

    if (count == 1) [[likely]] {
        if (watch(c->first, requests[0], status_slot(statuses, 0), *c, what.flags) == outcome::complete) {
            return complete_at_once(*c, what);
        }
    } else {
        c->remaining.store(count + 1, std::memory_order_relaxed);
        int complete = 1;
        for (int i = 0; i < count; ++i) {
            if (watch(c->others[i], requests[i], status_slot(statuses, i), *c, what.flags) == outcome::complete) {
                ++complete;
            }
        }
        if (c->remaining.fetch_sub(complete, std::memory_order_acq_rel) == complete) {
            return complete_at_once(*c, what);
        }
    }
    c->control.store(attached, std::memory_order_release);
    progress::engage();
    return {};
}

void withdraw() noexcept {
    continuation &c = *this_thread.stock.head;
    c.control.store(phase::free, std::memory_order_relaxed);
    c.cr->release();
}

} // namespace thence::continuation
