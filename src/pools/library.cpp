// SPDX-License-Identifier: BSD-3-Clause
// What the headers of pools call.
#include "pools/state.hpp"

#include <thence/senders/detail/continuation_requests.hpp>

namespace thence::libthence_pools {

using detail::pool_queue;
using detail::pool_task;
using detail::pools_state;
using detail::urgency;
using detail::whole_state;

pools_state *make(int workers, ::tbb::task_arena::priority priority, const completion_mode &usual) {
    return new whole_state(workers, priority, usual);
}
void destroy(pools_state *pools) noexcept {
    delete static_cast<whole_state *>(pools);
}

bool accepts(const pools_state &pools, const completion_mode &how) noexcept {
    return whole_state::of(pools).accepts(how);
}
const char *refusal(const pools_state &pools, const completion_mode &how) noexcept {
    return whole_state::of(pools).refusal(how);
}

void push(pools_state &pools, pool_queue where, pool_task &task, urgency how) noexcept {
    detail::work_queue &queue = whole_state::of(pools).queue(where);
    if (!queue.push_to_poller(task, how)) {
        queue.push(task, how);
    }
}
void push_suspending(pools_state &pools, pool_task &task) noexcept {
    whole_state::of(pools).queue(pool_queue::workers).push_suspending(task);
}
void push_again(pools_state &pools, pool_queue where, pool_task &task) noexcept {
    whole_state::of(pools).queue(where).push_again(task);
}
void bypass(pools_state &pools, pool_task &task, void (*in_arena)(pool_task *) noexcept) noexcept {
    detail::work_queue &workers = whole_state::of(pools).queue(pool_queue::workers);
    if (workers.go_on_here([&] { task.run(&task); })) {
        return;
    }
    if (detail::completing == 0) {
        pools.arena->execute([&] { task.run(&task); });
    } else if (auto *const run = task.run; !workers.push_to_poller(task, urgency::high)) {
        task.run = in_arena;
        if (!whole_state::of(pools).queue(pool_queue::mpi).push_to_poller(task, urgency::high)) {
            task.run = run;
            workers.push(task, urgency::high);
        }
    }
}

void begin_operation(pools_state &pools, pool_queue where) noexcept {
    whole_state::of(pools).queue(where).begin_operation();
}
void end_operation(pools_state &pools, pool_queue where) noexcept {
    whole_state::of(pools).queue(where).end_operation();
}
MPI_Request poll_only_request(pools_state &pools, pool_queue where) noexcept {
    detail::pool_progress &progress = whole_state::of(pools).progress(where);
    progress.registered();
    return progress.cr();
}
void poll_only_completed(pools_state &pools, pool_queue where) noexcept {
    whole_state::of(pools).progress(where).completed();
}

bool begin_part(pools_state &pools, pool_queue where) noexcept {
    return whole_state::of(pools).queue(where).begin_part();
}
void end_part() noexcept {
    detail::work_queue::end_part();
}
bool is_here(const pools_state &pools, pool_queue where) noexcept {
    return whole_state::of(pools).queue(where).is_here();
}

void suspending(pools_state &pools) noexcept {
    whole_state::of(pools).queue(pool_queue::workers).call_another();
    detail::work_queue::leave_thread();
}
void resuming(pools_state &pools) noexcept {
    whole_state::of(pools).queue(pool_queue::workers).resuming();
}
void resumed(pools_state &pools) noexcept {
    whole_state::of(pools).queue(pool_queue::workers).resumed();
}

// Where only the thread of the MPI pool may make progress, the wait counts as an operation of that; when it is over,
// this thread may call MPI again if nothing else is outstanding.
void work_until(pools_state &pools, void *condition, bool (*holds)(void *), bool round_first) noexcept {
    whole_state &state = whole_state::of(pools);
    detail::work_queue &workers = state.queue(pool_queue::workers);
    detail::work_queue &mpi = state.queue(pool_queue::mpi);
    const bool counts = state.mpi_pool_alone();
    if (counts) {
        mpi.begin_operation();
    }
    workers.drain_until({condition, holds}, round_first);
    if (counts) {
        mpi.end_operation();
        mpi.let_poll_end();
    }
}

} // namespace thence::libthence_pools
