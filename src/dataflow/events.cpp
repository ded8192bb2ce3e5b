// SPDX-License-Identifier: BSD-3-Clause
// Events, and tasks that block or sleep.
#include "core/base/clock.hpp"
#include "dataflow/flow.hpp"
#include "dataflow/timer.hpp"

#include <thence/dataflow.hpp>

#include <chrono>
#include <thread>

namespace thence::libthence_tasks {

using dataflow::phase;
using dataflow::suspended;
using dataflow::task;
using dataflow::this_thread;

namespace {

// Special values of `blocked_at`, which are no stacks: the task was unblocked before block(), or is blocked after its
// body.
suspended already_unblocked;
suspended blocked_after_body;

bool is_alive(const task *one) noexcept {
    if (one == nullptr || one->is_task().load(std::memory_order_relaxed) == 0) {
        return false;
    }
    const phase current = one->current_phase.load(std::memory_order_relaxed);
    return current != phase::free && current != phase::complete;
}

// Only the first error counts. Out of line, so that lower() saves few registers: most events are lowered without one.
[[gnu::noinline]] void set_error(task &lowered, int error) noexcept {
    int none = 0;
    if (lowered.error.compare_exchange_strong(none, error, std::memory_order_relaxed)) {
        detail::flow_state::fail(
            lowered, std::make_exception_ptr(event_error(error, lowered.label.load(std::memory_order_relaxed))));
    }
}

} // namespace

detail::dataflow_task *running_task() noexcept {
    return dataflow::handle_of(this_thread().running);
}

void when_thread_stops(void (*at_end)() noexcept) noexcept {
    this_thread().at_end = at_end;
}

bool raise(detail::dataflow_task *handle, std::uint64_t count) noexcept {
    task *const raised = dataflow::task_of(handle);
    if (raised == nullptr || raised != this_thread().running) {
        return false;
    }
    const std::uint64_t events = raised->pending.load(std::memory_order_relaxed) & task::all_events;
    if (count > task::all_events - events) {
        return false;
    }
    // The body runs, and is counted in `pending` itself, so that cannot become zero meanwhile.
    raised->pending.fetch_add(count, std::memory_order_relaxed);
    return true;
}

bool lower(detail::dataflow_task *handle, std::uint64_t count, int error) noexcept {
    task *const lowered = dataflow::task_of(handle);
    if (!is_alive(lowered)) {
        return false;
    }
    std::uint64_t before = lowered->pending.load(std::memory_order_relaxed);
    if ((before & task::all_events) < count) {
        return false;
    }
    if (count == 0) {
        return true;
    }
    if (error != 0) {
        set_error(*lowered, error);
    }
    // No plain subtraction: another thread may have lowered events meanwhile.
    do {
        if ((before & task::all_events) < count) {
            return false;
        }
    } while (!lowered->pending.compare_exchange_weak(before, before - count, std::memory_order_acq_rel,
                                                     std::memory_order_relaxed));
    if (before == count) {
        detail::flow_state::counted_to_zero(*lowered);
    }
    return true;
}

bool block() noexcept {
    task *const self = this_thread().in_body();
    if (self == nullptr) {
        return false;
    }
    if (self->blocked_at.load(std::memory_order_acquire) == &already_unblocked) {
        self->blocked_at.store(nullptr, std::memory_order_relaxed);
        return true;
    }
    const auto store_stack = [](suspended &stack, void *data) {
        task &blocked = *static_cast<task *>(data);
        suspended *nobody = nullptr;
        if (blocked.blocked_at.compare_exchange_strong(nobody, &stack, std::memory_order_acq_rel)) {
            return;
        }
        blocked.blocked_at.store(nullptr, std::memory_order_relaxed); // it was `already_unblocked`
        workers::resume(stack);
    };
    suspended stack;
    self->enter(phase::blocked);
    self->runs_in->scheduler().suspend(stack, {store_stack, self});
    self->enter(phase::runs);
    return true;
}

bool unblock(detail::dataflow_task *handle) noexcept {
    task *const blocked = dataflow::task_of(handle);
    if (!is_alive(blocked)) {
        return false;
    }
    suspended *where = blocked->blocked_at.load(std::memory_order_acquire);
    for (;;) {
        if (where == &already_unblocked) {
            return false;
        }
        if (blocked->blocked_at.compare_exchange_weak(where, where == nullptr ? &already_unblocked : nullptr,
                                                      std::memory_order_acq_rel, std::memory_order_acquire)) {
            break;
        }
    }
    if (where == &blocked_after_body) {
        detail::flow_state::repeat_now(*blocked);
    } else if (where != nullptr) {
        workers::resume(*where);
    }
    return true;
}

std::uint64_t sleep_ns(std::uint64_t time) {
    const base::nanoseconds begun = base::read_clock();
    task *const self = this_thread().in_body();
    const base::nanoseconds limit = dataflow::clamped(time);
    if (self == nullptr) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(limit));
    } else if (time == 0) {
        self->runs_in->let_others_run({}, self->priority);
    } else {
        base::nanoseconds until = begun + limit;
        dataflow::prepare_timer();
        suspended stack;
        self->enter(phase::sleeps);
        self->runs_in->scheduler().suspend(stack, {[](suspended &stack_here, void *data) {
                                                       dataflow::resume_at(*static_cast<base::nanoseconds *>(data),
                                                                           stack_here);
                                                   },
                                                   &until});
        self->enter(phase::runs);
    }
    return static_cast<std::uint64_t>(base::read_clock() - begun);
}

} // namespace thence::libthence_tasks

bool thence::dataflow::block_without_stack(task &after_body) noexcept {
    suspended *before = nullptr;
    if (after_body.blocked_at.compare_exchange_strong(before, &libthence_tasks::blocked_after_body,
                                                      std::memory_order_acq_rel)) {
        return true;
    }
    after_body.blocked_at.store(nullptr, std::memory_order_relaxed); // it was `already_unblocked`
    return false;
}
