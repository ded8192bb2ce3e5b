// SPDX-License-Identifier: BSD-3-Clause
// What the headers call.
#include "dataflow/flow.hpp"

#include <oneapi/tbb/info.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

namespace thence::libthence_tasks {

using dataflow::phase;
using dataflow::task;
using detail::flow_state;

flow_state *make_flow(int workers) {
    if (workers < 0 || workers > 4096)
        throw std::invalid_argument("thence::flow: workers must be 1 to 4096, or 0 for the default");
    // A thread that waits works too, so the default is one less than the processors.
    return new flow_state(workers != 0 ? workers : std::max(1, ::tbb::info::default_concurrency() - 1));
}

void destroy_flow(flow_state *flow) noexcept {
    delete flow;
}

flow_state &default_flow() {
    static flow_state &only = *make_flow(0);
    return only;
}

int workers_of(const flow_state &flow) noexcept {
    return flow.workers();
}

detail::prepared_task prepare_task(flow_state &flow, const detail::task_body &body, std::size_t accesses) {
    task *const made = flow.prepare(body, accesses);
    return {dataflow::handle_of(made), made->object};
}

void submit_task(flow_state &flow, detail::dataflow_task *added, const access *accesses, std::size_t count,
                 const task_options &options) {
    flow.submit(*dataflow::of(added), {accesses, count}, options, __builtin_return_address(0));
}

void drop_task(detail::dataflow_task *unused) noexcept {
    flow_state::drop(*dataflow::of(unused));
}

void wait_for_children(flow_state &flow) {
    flow.wait_for_children();
}

void wait_for_accesses(flow_state &flow, const access *accesses, std::size_t count) {
    flow.wait_for({accesses, count}, std::numeric_limits<int>::max());
}

namespace {

const char *text_of(phase now, std::uint64_t events) noexcept {
    switch (now) {
    case phase::waits_for_accesses:
        return "waits for earlier tasks";
    case phase::runs_onready:
        return events != 0 ? "waits for the events of onready" : nullptr;
    case phase::blocked:
        return "is blocked";
    case phase::sleeps:
        return "sleeps";
    case phase::waits_for_children:
        return "is in taskwait";
    case phase::ended:
        return events != 0 ? "has ended and waits for its events" : "has ended and waits for its children";
    default:
        return nullptr;
    }
}

} // namespace

void report_waiting(void (*tell)(const detail::task_report &, void *), void *data) {
    std::vector<detail::task_report> found; // `tell` may submit tasks, which the visit does not allow
    dataflow::block_pool::for_each(
        sizeof(task),
        [](void *block, void *into) {
            const auto *const head = static_cast<const dataflow::block_head *>(block);
            if (head->is_task.load(std::memory_order_acquire) == 0)
                return;
            const auto *const one = static_cast<const task *>(head);
            const std::uint64_t events = one->pending.load(std::memory_order_relaxed) & task::all_events;
            const char *const state = text_of(one->now.load(std::memory_order_relaxed), events);
            if (state != nullptr)
                static_cast<std::vector<detail::task_report> *>(into)->push_back(
                    {one->label.load(std::memory_order_relaxed), one->place.load(std::memory_order_relaxed), state,
                     events});
        },
        &found);
    for (const detail::task_report &one : found)
        tell(one, data);
}

std::size_t memory_held() noexcept {
    return dataflow::block_pool::held();
}

} // namespace thence::libthence_tasks
