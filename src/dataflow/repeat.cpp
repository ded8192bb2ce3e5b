// SPDX-License-Identifier: BSD-3-Clause
// Tasks whose body runs again, and that need no stack until then. The task keeps its accesses. From repeat_later() on
// it belongs to one of: the queue, the timer, unblock(), the last event.
#include "dataflow/flow.hpp"
#include "dataflow/timer.hpp"

#include <utility>

namespace thence::detail {

using dataflow::phase;
using dataflow::task;

void flow_state::repeat_now(task &again) noexcept {
    again.enter(phase::ready);
    again.runs_in->scheduler_.push(again);
}

// While the task waits for events, the counter has neither body_runs nor has_children, so the last event takes it to
// zero. The scope counts the body, so it does not end meanwhile.
void flow_state::events_are_lowered(task &again) noexcept {
    const bool has_children = again.children.load(std::memory_order_relaxed) != nullptr;
    again.pending.store(task::body_runs + (has_children ? task::has_children : 0), std::memory_order_relaxed);
    repeat_now(again);
}

void flow_state::repeat_later(task &again) noexcept {
    again.flags &= static_cast<std::uint8_t>(~dataflow::runs_again);
    const std::uint64_t pause = again.pause;
    switch (std::exchange(again.again, repetition::after_unblock)) {
    case repetition::at_once:
        return repeat_now(again);
    case repetition::after_pause:
        again.enter(phase::sleeps);
        if (!dataflow::call_after(
                pause, [](void *data) noexcept { repeat_now(*static_cast<task *>(data)); }, &again)) {
            repeat_now(again); // no memory
        }
        return;
    case repetition::after_events: {
        again.enter(phase::waits_to_run_again);
        const bool has_children = again.children.load(std::memory_order_relaxed) != nullptr;
        const std::uint64_t part = task::body_runs + (has_children ? task::has_children : 0);
        if (again.pending.fetch_sub(part, std::memory_order_acq_rel) == part) {
            events_are_lowered(again);
        }
        return;
    }
    case repetition::after_unblock:
        again.enter(phase::blocked);
        if (!dataflow::block_without_stack(again)) {
            repeat_now(again); // it was unblocked before
        }
        return;
    }
}

} // namespace thence::detail

namespace thence::libthence_tasks {

using dataflow::task;

std::uint64_t events_of(const detail::dataflow_task *handle) noexcept {
    return dataflow::task_of(const_cast<detail::dataflow_task *>(handle))->pending.load(std::memory_order_acquire) &
           task::all_events;
}

bool choose_repetition(detail::repetition when, std::uint64_t pause) noexcept {
    task *const self = dataflow::this_thread().in_body();
    if (self != nullptr) {
        self->again = when;
        self->pause = pause;
    }
    return self != nullptr;
}

bool run_again() noexcept {
    task *const self = dataflow::this_thread().in_body();
    if (self != nullptr) {
        self->flags |= dataflow::runs_again;
    }
    return self != nullptr;
}

} // namespace thence::libthence_tasks
