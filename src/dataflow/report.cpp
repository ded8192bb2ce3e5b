// SPDX-License-Identifier: BSD-3-Clause
// Which tasks wait, and for what. It visits all blocks that may be tasks, since there is no list of tasks.
#include "dataflow/task.hpp"

#include <vector>

namespace thence::libthence_tasks {

using dataflow::phase;
using dataflow::task;

namespace {

bool is_active(phase current, std::uint64_t events) noexcept {
    return current == phase::ready || current == phase::runs || current == phase::sleeps ||
           (current == phase::runs_onready && events == 0);
}

const char *text_of(phase current, std::uint64_t events) noexcept {
    switch (current) {
    case phase::waits_for_accesses:
        return "waits for earlier tasks";
    case phase::runs_onready:
        return events != 0 ? "waits for the events of onready" : nullptr;
    case phase::blocked:
        return "is blocked";
    case phase::waits_to_run_again:
        return "waits for its events, to run again";
    case phase::sleeps:
        return "sleeps";
    case phase::waits_for_children:
        return "is in taskwait";
    case phase::throttled:
        return "is in submit(), since too many of its children are not complete";
    case phase::ended:
        return events != 0 ? "has ended and waits for its events" : "has ended and waits for its children";
    default:
        return nullptr;
    }
}

} // namespace

std::uint64_t report_waiting(void (*tell)(const detail::task_report &, void *), void *data) {
    struct {
        std::vector<detail::task_report> waiting; // `tell` may submit tasks, which the visit does not allow
        std::uint64_t active = 0;
    } found;
    dataflow::block_pool::for_each(
        sizeof(task),
        [](void *block, void *into) {
            const auto *const head = static_cast<const dataflow::block_head *>(block);
            if (head->is_task().load(std::memory_order_acquire) == 0) {
                return;
            }
            const auto *const one = static_cast<const task *>(head);
            const std::uint64_t events = one->pending.load(std::memory_order_relaxed) & task::all_events;
            const phase current = one->current_phase.load(std::memory_order_relaxed);
            auto &all = *static_cast<decltype(found) *>(into);
            if (is_active(current, events)) {
                ++all.active;
            }
            if (const char *const state = text_of(current, events)) {
                all.waiting.push_back({one->label.load(std::memory_order_relaxed),
                                       one->submitted_at.load(std::memory_order_relaxed), state, events});
            }
        },
        &found);
    for (const detail::task_report &one : found.waiting) {
        tell(one, data);
    }
    return found.active;
}

} // namespace thence::libthence_tasks
