// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file pools.hpp
 *  @brief Pools of oneTBB for senders over MPI: workers run the work that follows an operation, and a thread polls.
 *
 *      thence::pools pools({.workers = 4});
 *      auto got = ex::just(buffer, n, MPI_DOUBLE, from, tag, comm)
 *                 | pools.transform_mpi(MPI_Irecv)            // completes in a task of a worker
 *                 | ex::then([&](auto &&...) { compute(); });  // may take long, wait and suspend
 *      pools.sync_wait(std::move(got));                       // this thread runs tasks and polls meanwhile
 *
 *  A `thence::completion_mode` (pools/completion_mode.hpp) says which thread starts an operation, which thread polls,
 *  and where the work that follows runs. It can be set for all pools (`THENCE_POOLS_MODE`), for one object
 *  (`pools_options::mode`), and for one call (`pools.transform_mpi(f, mode)`).
 *
 *  Schedulers: workers(), workers(urgency::high), mpi() and bypass() for `ex::schedule`, `ex::continues_on`,
 *  `ex::starts_on`.
 *
 *  Progress: while operations of the pools are outstanding, a worker polls between tasks, or the thread of the MPI pool
 *  polls. For all other operations (those of thence/mpi.hpp and thence::transform_mpi) a thread polls only while a
 *  thread is in sync_wait() or work_until(). If no thread polls for a millisecond, since a task computes, waits, or has
 *  suspended the polling thread, the watchdog thread of the pools polls instead (with `MPI_THREAD_MULTIPLE`). The
 *  watchdog checks less often after many polls or after a time in which nothing was outstanding; then it may take 8
 *  milliseconds. While nothing is outstanding and no thread waits, all threads of the pools sleep. Then other
 *  operations need progress from elsewhere, such as the helper thread (`THENCE_PROGRESS=thread`).
 *
 *  Threads: initialize MPI with `MPI_THREAD_MULTIPLE`. A lower level is enough if only one thread calls MPI:
 *  - With `workers = 0` and without an MPI pool, everything runs in sync_wait().
 *  - With `MPI_THREAD_SERIALIZED` and a mode with `mpi_pool` and without `inline_request`, only the thread of the MPI
 *    pool calls MPI. The program must not call MPI meanwhile, must start operations of other senders on `pools.mpi()`,
 *    and must use `thence::uncancellable` if anything but a deadline may request stop. It may call MPI when sync_wait()
 *    has returned and nothing is outstanding.
 *
 *  In any other case an operation completes with an error that says so. oneTBB has as many threads as the smallest
 *  number that any pools of the process have requested.
 *
 *  Stopping: after a stop request or a deadline, MPI is asked to cancel the operation while several threads of the
 *  pools are inside MPI. On Open MPI a message may be lost, or the program may crash, if another thread matches the
 *  message at that moment; see thence_cancel(). The pools cannot keep all threads out of MPI. So use
 *  `thence::uncancellable` for receives that must not lose a message, and let the sender of the messages end them with
 *  a last message. Or let only one thread call MPI, as above, below `MPI_THREAD_MULTIPLE`.
 *
 *  Lifetime: construct pools after MPI is initialized and destroy them before MPI_Finalize. They must outlive their
 *  operations and tasks: the destructor ends the program if operations are outstanding or tasks have not run.
 *
 *  Needs oneTBB 2021.6 or later. Link `thence::pools`, which brings oneTBB and `thence::senders`.
 *
 *  Source: Biddiscombe et al. 2025, sections 2.3 and 3. */

#include <algorithm>
#include <memory>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>

#include <thence/pools/completion_mode.hpp>
#include <thence/pools/detail/exports.hpp>
#include <thence/pools/detail/pool_operation.hpp>
#include <thence/pools/detail/waiting.hpp>
#include <thence/pools/scheduler.hpp>
#include <thence/transform_mpi.hpp>

namespace thence {

/** @brief The options of pools. */
struct pools_options {
    /** The number of threads of oneTBB that run tasks, besides the threads in sync_wait(). 0: only those. Default: one
     *  less than oneTBB has. */
    int workers = std::max(1, ::tbb::info::default_concurrency() - 1);
    /** The mode of operations for which transform_mpi() is given none. */
    thence::completion_mode mode = default_completion_mode();
    /** The priority of the workers' arena among the arenas of the program. */
    ::tbb::task_arena::priority priority = ::tbb::task_arena::priority::normal;
};

/** @brief Pools of threads for senders over MPI. See the top of this file. */
class pools {
public:
    /** @throws std::invalid_argument for a bad option; thence::error; thence::mpi_inactive. */
    explicit pools(const pools_options &options = {})
        : threads_(allow(options.workers + 1)),
          state_(libthence_pools::make(options.workers, options.priority, options.mode)) {}
    pools &operator=(pools &&) = delete;
    ~pools() { libthence_pools::destroy(state_); }

    /** @return the mode of operations for which transform_mpi() is given none. */
    const thence::completion_mode &mode() const noexcept { return state_->mode; }

    /** @brief As thence::transform_mpi(f, options...), handled by these pools. The completion signatures are the same.
     *  @param given options of thence::transform_mpi() except thence::in_completion, and a
     *               `thence::completion_mode`. */
    template <class F, class... Given>
    requires(!ex::sender<std::decay_t<F>>) auto transform_mpi(F &&fn, Given... given) {
        return detail::transform_closure<std::decay_t<F>, options_for<Given...>, detail::pool_delivery>(
            static_cast<F &&>(fn), delivery_for(given...));
    }
    /** @brief As thence::transform_mpi(sender, f, options...), handled by these pools. */
    template <ex::sender S, class F, class... Given> auto transform_mpi(S &&s, F &&fn, Given... given) {
        return detail::transform_sender<std::decay_t<S>, std::decay_t<F>, options_for<Given...>, detail::pool_delivery>{
            static_cast<F &&>(fn), delivery_for(given...), static_cast<S &&>(s)};
    }
    /** @brief As thence::call_mpi(), handled by these pools: transform_mpi() with thence::without_values. */
    template <class... Args> auto call_mpi(Args &&...args) {
        return transform_mpi(static_cast<Args &&>(args)..., without_values);
    }

    /** @return a scheduler whose tasks the workers run. Those with urgency::high run before others. */
    pool_scheduler workers(urgency how = urgency::normal) noexcept {
        return {state_, how == urgency::high ? pool_scheduler::target::workers_first : pool_scheduler::target::workers};
    }
    /** @return a scheduler whose tasks the thread of the MPI pool runs, between polls. They must be short. */
    pool_scheduler mpi() noexcept { return {state_, pool_scheduler::target::mpi}; }
    /** @return a scheduler that runs the task at once on the thread that schedules it, as a task of the workers but
     *          without their queue. If that thread is in a callback, the task runs after the callback: as the next task
     *          of that thread if it polls for these pools, else on a worker. */
    pool_scheduler bypass() noexcept { return {state_, pool_scheduler::target::bypass}; }

    /** @brief Starts the sender and waits until it completes. This thread runs tasks and polls meanwhile.
     *  @return the values as a tuple in an optional, which is empty if the sender was stopped.
     *  @throws what thence::sync_wait() throws; std::logic_error inside a callback and on the thread of the MPI pool.
     *  @note Threads: up to 7 at once, and tasks of the workers. */
    template <class S> auto sync_wait(S &&s) { return detail::pools_sync_wait(*state_, static_cast<S &&>(s)); }

    /** @brief Runs tasks and polls on this thread until `condition()` is true. Outside of tasks of pools it runs at
     *         least one round before it tests the condition: the tasks that are ready, and one poll unless another
     *         thread polls for these pools. So a program that calls it before each new piece of work makes progress
     *         even if the condition is true each time.
     *  @param condition called between tasks and polls while a lock is held. It must only read something that a task or
     *                   a completion makes true. If this is called in a task, the condition must not depend on what the
     *                   thread below it does after its own sync_wait() or work_until(): that would wait for itself.
     *  @throws std::logic_error inside a callback and on the thread of the MPI pool.
     *  @note Threads: as for sync_wait(). */
    template <class Condition> void work_until(Condition &&condition) {
        detail::check_may_wait(*state_);
        state_->arena->execute([&] { detail::wait_in(*state_, condition, true); });
    }

    /** @return the arena of the workers. The program may run its own loops and tasks of oneTBB in it. */
    ::tbb::task_arena &arena() noexcept { return *state_->arena; }

private:
    template <class... Given> struct checked_options {
        static_assert((std::is_same_v<Given, thence::completion_mode> + ... + 0) <= 1,
                      "transform_mpi: more than one mode");
        static_assert(((std::is_same_v<Given, thence::completion_mode> || detail::mpi_option<Given>)&&...),
                      "transform_mpi: an option is neither one of transform_mpi nor a thence::completion_mode");
        static_assert(!detail::any_of_type<in_completion_t, Given...>,
                      "transform_mpi: thence::in_completion is for operations without pools");
        using type = detail::options_from<Given...>;
    };
    template <class... Given> using options_for = typename checked_options<Given...>::type;
    template <class... Given> detail::pool_delivery delivery_for(const Given &...given) const noexcept {
        thence::completion_mode how = state_->mode;
        ((void)detail::take_completion_mode(how, given), ...);
        return {state_, how};
    }

    /** oneTBB has one thread per core for all arenas together, unless a global_control allows more. */
    static std::unique_ptr<::tbb::global_control> allow(int threads) {
        if (threads <= ::tbb::info::default_concurrency()) {
            return nullptr;
        }
        return std::make_unique<::tbb::global_control>(::tbb::global_control::max_allowed_parallelism,
                                                       static_cast<std::size_t>(threads));
    }

    std::unique_ptr<::tbb::global_control> threads_;
    detail::pools_state *state_;
};

} // namespace thence
