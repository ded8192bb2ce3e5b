// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file pools/scheduler.hpp
 *  @brief The schedulers of `thence::pools`: small values that name the pools, a queue, and which end of it. The pools
 *         must outlive them.
 *
 *  `schedule(s)` completes with set_value_t(), or set_stopped_t() if stop was requested before the task ran;
 *  it has the second signature if stop_possible() may be true for the stop token. Two schedulers are equal if they push
 *  tasks to the same end of the same queue. */

#include <thence/execution.hpp>
#include <thence/pools/detail/exports.hpp>
#include <thence/pools/detail/slow_task.hpp>
#include <thence/senders/detail/completions.hpp>

namespace thence {

using detail::urgency;

class pool_scheduler {
public:
    enum class target : unsigned char { workers, workers_first, mpi, bypass };

    using scheduler_concept = ex::scheduler_t;

    pool_scheduler(detail::pools_state *state, target where) noexcept : state_(state), where_(where) {}
    auto schedule() const noexcept { return sender{state_, where_}; }
    template <class Tag> pool_scheduler query(ex::get_completion_scheduler_t<Tag>) const noexcept { return *this; }
    friend bool operator==(const pool_scheduler &, const pool_scheduler &) noexcept = default;

private:
    template <class R> struct operation : detail::pool_task {
        using operation_state_concept = ex::operation_state_t;
        detail::pools_state *state;
        target where;
        [[no_unique_address]] R receiver;

        operation(detail::pools_state *s, target w, R r) : state(s), where(w), receiver(static_cast<R &&>(r)) {
            this->run = &complete;
        }
        operation(operation &&) = delete;
        void start() &noexcept {
            switch (where) {
            case target::workers:
                return libthence_pools::push(*state, detail::pool_queue::workers, *this, urgency::normal);
            case target::workers_first:
                return libthence_pools::push(*state, detail::pool_queue::workers, *this, urgency::high);
            case target::mpi:
                return libthence_pools::push(*state, detail::pool_queue::mpi, *this, urgency::normal);
            case target::bypass:
                return libthence_pools::bypass(*state, *this, &complete_in_arena);
            }
        }
        static void complete(detail::pool_task *task) noexcept {
            auto *self = static_cast<operation *>(task);
            const auto go = [self] { detail::complete_scheduled(self->receiver); };
            if (self->state->slow_limit != 0 && libthence_pools::is_runner(*self->state, detail::pool_queue::mpi))
                [[unlikely]] {
                detail::run_timed<R>(self->state->slow_limit, go);
            } else {
                go();
            }
        }
        static void complete_in_arena(detail::pool_task *task) noexcept {
            static_cast<operation *>(task)->state->arena->execute([task] { complete(task); });
        }
    };
    struct environment {
        detail::pools_state *state;
        target where;
        template <class Tag> pool_scheduler query(ex::get_completion_scheduler_t<Tag>) const noexcept {
            return {state, where};
        }
    };
    struct sender {
        using sender_concept = ex::sender_t;
        detail::pools_state *state;
        target where;

        template <class, class... Env> static consteval auto get_completion_signatures() {
            return detail::schedule_completions<Env...>();
        }
        template <ex::receiver R> auto connect(R r) const { return operation<R>(state, where, static_cast<R &&>(r)); }
        environment get_env() const noexcept { return {state, where}; }
    };

    detail::pools_state *state_;
    target where_;
};

} // namespace thence
