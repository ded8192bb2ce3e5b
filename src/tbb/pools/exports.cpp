// SPDX-License-Identifier: BSD-3-Clause
// The functions that the headers of pools call (thence/pools/detail/exports.hpp), except those on queues, which are in
// work_queue.cpp.
#include "tbb/pools/state.hpp"

namespace thence::libthence_pools {

using detail::pool_queue;
using detail::pools_implementation;
using detail::pools_state;

pools_state *make(int workers, ::tbb::task_arena::priority priority, const completion_mode &usual) {
    return new pools_implementation(workers, priority, usual);
}
void destroy(pools_state *pools) noexcept {
    delete static_cast<pools_implementation *>(pools);
}

bool accepts(const pools_state &pools, const completion_mode &how) noexcept {
    return implementation_of(pools).accepts(how);
}
const char *refusal(const pools_state &pools, const completion_mode &how) noexcept {
    return implementation_of(pools).refusal(how);
}

MPI_Request poll_only_request(pools_state &pools, pool_queue where) noexcept {
    detail::pool_poller &poller = implementation_of(pools).poller(where);
    poller.registered();
    return poller.cr();
}
void poll_only_completed(pools_state &pools, pool_queue where) noexcept {
    implementation_of(pools).poller(where).completed();
}

bool is_runner(const pools_state &pools, pool_queue where) noexcept {
    return implementation_of(pools).queue(where).is_runner();
}

void suspending(pools_state &pools) noexcept {
    implementation_of(pools).queue(pool_queue::workers).ensure_searching_worker();
    detail::work_queue::clear_thread_state();
}
void resuming(pools_state &pools, detail::urgency how) noexcept {
    implementation_of(pools).queue(pool_queue::workers).resuming(how);
}
void resumed(pools_state &pools, detail::urgency how) noexcept {
    implementation_of(pools).queue(pool_queue::workers).resumed(how);
}

// If only the thread of the MPI pool may make progress, the wait counts as an operation of that pool. After the wait
// the caller may call MPI, if nothing else is outstanding. So the last poll must have ended.
void work_until(pools_state &pools, void *condition, bool (*holds)(void *), bool at_least_one_round) noexcept {
    pools_implementation &state = implementation_of(pools);
    detail::work_queue &workers = state.queue(pool_queue::workers);
    detail::work_queue &mpi = state.queue(pool_queue::mpi);
    const bool counts = state.mpi_pool_alone();
    if (counts) {
        mpi.begin_operation();
    }
    workers.run_until({condition, holds}, at_least_one_round);
    if (counts) {
        mpi.end_operation();
        mpi.wait_for_poll_end();
    }
}

} // namespace thence::libthence_pools
