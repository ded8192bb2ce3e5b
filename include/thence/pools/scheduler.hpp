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

namespace detail {

/** Where the tasks of a scheduler go. */
struct pool_target {
    enum class queue_end : unsigned char { workers, workers_first, mpi, bypass };
    pools_state *state;
    queue_end where;
    friend bool operator==(const pool_target &, const pool_target &) noexcept = default;
};

} // namespace detail

class pool_scheduler : public detail::scheduler_base<pool_scheduler, detail::pool_target> {
public:
    using target = detail::pool_target::queue_end;

private:
    friend scheduler_base;
    template <class R> struct operation : detail::pool_task {
        using operation_state_concept = ex::operation_state_t;
        detail::pools_state *state;
        target where;
        [[no_unique_address]] R receiver;

        operation(const detail::pool_target &to, R r)
            : state(to.state), where(to.where), receiver(static_cast<R &&>(r)) {
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

public:
    pool_scheduler(detail::pools_state *state, target where) noexcept
        : pool_scheduler(detail::pool_target{state, where}) {}
    using scheduler_base::scheduler_base;
};

} // namespace thence
