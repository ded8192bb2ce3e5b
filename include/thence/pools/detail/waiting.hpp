// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_POOLS_DETAIL_WAITING_HPP
#define THENCE_POOLS_DETAIL_WAITING_HPP

// sync_wait of pools: the thread that waits works for the pools. Its last access to the state by others is the store to
// `done`.

#include <atomic>
#include <exception>
#include <optional>
#include <stdexcept>

#include <thence/pools/scheduler.hpp>

namespace thence::detail {

struct pools_wait_env {
    pools_state *pools;
    auto query(ex::get_scheduler_t) const noexcept { return pool_scheduler(pools, pool_scheduler::place::workers); }
    auto query(ex::get_delegation_scheduler_t) const noexcept {
        return pool_scheduler(pools, pool_scheduler::place::workers);
    }
#if defined(THENCE_EXECUTION_HAS_START_SCHEDULER)
    auto query(ex::get_start_scheduler_t) const noexcept {
        return pool_scheduler(pools, pool_scheduler::place::workers);
    }
#endif
};

template <class Result> struct pools_wait_state {
    pools_state *pools;
    std::exception_ptr error;
    std::optional<Result> result;
    std::atomic<bool> done{false};
};

template <class Result> struct pools_wait_receiver {
    using receiver_concept = ex::receiver_t;
    pools_wait_state<Result> *state;

    template <class... Vs>
    requires std::is_constructible_v<Result, Vs...>
    void set_value(Vs &&...values) &&noexcept {
        try {
            state->result.emplace(static_cast<Vs &&>(values)...);
        } catch (...) {
            state->error = std::current_exception();
        }
        state->done.store(true, std::memory_order_release);
    }
    template <class E> void set_error(E &&error) &&noexcept {
        if constexpr (std::is_same_v<std::decay_t<E>, std::exception_ptr>)
            state->error = static_cast<E &&>(error);
        else
            state->error = std::make_exception_ptr(static_cast<E &&>(error));
        state->done.store(true, std::memory_order_release);
    }
    void set_stopped() &&noexcept { state->done.store(true, std::memory_order_release); }
    pools_wait_env get_env() const noexcept { return {state->pools}; }
};

inline void must_be_able_to_wait(const pools_state &pools) {
    if (pools.mpi.is_here())
        throw std::logic_error(
            "thence::pools: sync_wait() or work_until() called on the polling thread of the MPI pool, "
            "which would wait for itself; use a mode without bypass and inline-completion, or "
            "continues_on(pools.workers())");
    if (completing)
        throw std::logic_error("thence::pools: sync_wait() or work_until() called inside a callback, where no other "
                               "operation can complete on this thread; use a mode without inline-completion, or go on "
                               "with let_value() or co_await instead of waiting");
}

template <class S> auto pools_sync_wait(pools_state &pools, S &&s) {
    using result = typename values_before<ex::completion_signatures_of_t<S, pools_wait_env>>::type;
    must_be_able_to_wait(pools);
    pools_wait_state<result> state{&pools, {}, {}};
    auto operation = ex::connect(static_cast<S &&>(s), pools_wait_receiver<result>{&state});
    pools.worker_host.arena().execute([&] {
        ex::start(operation);
        auto done = [&state] { return state.done.load(std::memory_order_acquire); };
        pools.workers.drain_until(done);
    });
    if (state.error)
        std::rethrow_exception(static_cast<std::exception_ptr &&>(state.error));
    return static_cast<std::optional<result> &&>(state.result);
}

} // namespace thence::detail

#endif
