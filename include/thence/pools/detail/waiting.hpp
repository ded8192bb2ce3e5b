// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// sync_wait of pools. The thread that waits runs tasks of the pools meanwhile. The store to `done` is the last access
// of another thread to the state of the wait.

#include <atomic>
#include <stdexcept>

#include <thence/pools/scheduler.hpp>
#include <thence/senders/detail/continuation_requests.hpp>
#include <thence/senders/sync_wait.hpp>

namespace thence::detail {

struct pools_wait_env {
    pools_state *pools;
    auto query(ex::get_scheduler_t) const noexcept { return pool_scheduler(pools, pool_scheduler::target::workers); }
    auto query(ex::get_delegation_scheduler_t) const noexcept {
        return pool_scheduler(pools, pool_scheduler::target::workers);
    }
#if defined(THENCE_EXECUTION_HAS_START_SCHEDULER)
    auto query(ex::get_start_scheduler_t) const noexcept {
        return pool_scheduler(pools, pool_scheduler::target::workers);
    }
#endif
};

template <class Result> struct pools_wait_state : waited_for<Result> {
    pools_state *pools;
    std::atomic<bool> done{false};

    explicit pools_wait_state(pools_state &with) : pools(&with) {}
    void finish() noexcept { done.store(true, std::memory_order_release); }
    pools_wait_env get_env() const noexcept { return {pools}; }
};

/** @throws std::logic_error on a thread that must not wait in these pools. */
inline void check_may_wait(const pools_state &pools) {
    if (libthence_pools::is_runner(pools, pool_queue::mpi)) {
        throw std::logic_error(
            "thence::pools: sync_wait() or work_until() called on the polling thread of the MPI pool, "
            "which would wait for itself; use a mode without bypass and inline-completion, or "
            "continues_on(pools.workers())");
    }
    if (completing) {
        throw std::logic_error("thence::pools: sync_wait() or work_until() called inside a callback, where no other "
                               "operation can complete on this thread; use a mode without inline-completion, or go on "
                               "with let_value() or co_await instead of waiting");
    }
}

/** Runs tasks and polls until `condition()` is true. Call it in the arena of the workers. */
template <class Condition>
void wait_in(pools_state &pools, Condition &condition, bool at_least_one_round = false) noexcept {
    const auto holds = [](void *given) -> bool { return (*static_cast<Condition *>(given))(); };
    libthence_pools::work_until(pools, &condition, holds, at_least_one_round);
}

template <class S> auto pools_sync_wait(pools_state &pools, S &&s) {
    using result = typename waited_values<S, pools_wait_env>::type;
    check_may_wait(pools);
    using state_type = pools_wait_state<result>;
    state_type state(pools);
    if constexpr (waitable<S, pools_wait_env>) {
        auto operation = ex::connect(static_cast<S &&>(s), waiting_receiver<state_type>{&state});
        pools.arena->execute([&] {
            ex::start(operation);
            auto done = [&state] { return state.done.load(std::memory_order_acquire); };
            wait_in(pools, done);
        });
    }
    return state.take();
}

} // namespace thence::detail
