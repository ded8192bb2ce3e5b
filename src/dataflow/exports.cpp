// SPDX-License-Identifier: BSD-3-Clause
// What the headers call.
#include "dataflow/flow.hpp"

#include <oneapi/tbb/info.h>

#include <algorithm>
#include <stdexcept>

namespace thence::libthence_tasks {

using dataflow::task;
using detail::flow_state;

flow_state *make_flow(int workers, std::uint32_t most_open) {
    if (workers < 0 || workers > 4096) {
        throw std::invalid_argument("thence::flow: workers must be 1 to 4096, or 0 for the default");
    }
    // A thread that waits works too, so the default is one less than the processors.
    if (workers == 0) {
        workers = std::max(1, ::tbb::info::default_concurrency() - 1);
    }
    if (most_open == 0) {
        most_open = static_cast<std::uint32_t>(std::max(2048, 256 * workers));
    }
    return new flow_state(workers, most_open);
}

void destroy_flow(flow_state *flow) noexcept {
    delete flow;
}

flow_state &default_flow() {
    static flow_state &only = *make_flow(0, 0);
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
    flow.submit(*dataflow::task_of(added), {accesses, count}, options, __builtin_return_address(0));
}

void drop_task(detail::dataflow_task *unused) noexcept {
    flow_state::drop(*dataflow::task_of(unused));
}

void wait_for_children(flow_state &flow) {
    flow.wait_for_children();
}

void wait_for_accesses(flow_state &flow, const access *accesses, std::size_t count) {
    flow.wait_for({accesses, count});
}

std::size_t memory_held() noexcept {
    return dataflow::block_pool::held();
}

} // namespace thence::libthence_tasks
