// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_POOLS_HPP
#define THENCE_POOLS_HPP
#if __cplusplus < 202002L
#error "thence/pools.hpp needs C++20: compile with -std=c++20"
#else

/** @file pools.hpp
 *  @brief Pools of oneTBB for senders over MPI: workers that run what follows an operation, and a thread that polls.
 *
 *      thence::pools pools({.workers = 4});
 *      auto got = ex::just(buffer, n, MPI_DOUBLE, from, tag, comm)
 *                 | pools.transform_mpi(MPI_Irecv)            // completes in a task of a worker
 *                 | ex::then([&](auto &&...) { compute(); });  // may take long, wait and suspend
 *      pools.sync_wait(std::move(got));                       // this thread works for the pools meanwhile
 *
 *  Where an operation is started, who polls, and where the work that follows runs is a `thence::completion_mode`
 *  (pools/completion_mode.hpp): of all pools (`THENCE_POOLS_MODE`), of one (`pools_options::mode`), or of one call
 *  (`pools.transform_mpi(f, mode)`).
 *
 *  Schedulers: workers(), workers(urgency::high), mpi() and bypass() for `ex::schedule`, `ex::continues_on`,
 *  `ex::starts_on`.
 *
 *  Progress: while operations of the pools are outstanding a worker polls between tasks, or the thread of the MPI pool
 *  does. Other operations (thence/mpi.hpp, thence::transform_mpi) the pools do not know: for these a thread polls as
 *  long as one is in sync_wait() or work_until(). Should nobody get to it for a millisecond, since a task computes,
 *  waits or has suspended the polling thread, another thread makes progress instead (with `MPI_THREAD_MULTIPLE`);
 *  after a time of many polls, or of nothing to do, when that thread looks less often, for 8 milliseconds.
 *  While nothing is outstanding and nobody waits, all threads sleep: then operations that the pools do not know need
 *  somebody else's progress, such as the helper thread's (`THENCE_PROGRESS=thread`).
 *
 *  Threads: initialize MPI with `MPI_THREAD_MULTIPLE`. Lower levels are enough where one thread alone calls MPI: with
 *  `workers = 0` and no MPI pool all happens in sync_wait(); with `MPI_THREAD_SERIALIZED` and a mode that has
 *  `mpi_pool` and not `inline_request`, only the thread of that pool calls MPI, if the program does not meanwhile, and
 *  starts operations of other senders on `pools.mpi()`, and uses `thence::uncancellable` where something else than a
 *  deadline may ask operations to stop. The program may call MPI itself when sync_wait() has returned and nothing is
 *  outstanding. Anything else completes with an error that says so. oneTBB has as many threads as the smallest number
 *  that any pools of the process have asked for.
 *
 *  Stopping: a stop request or deadline asks MPI to cancel, and several threads of pools are inside MPI. On Open MPI
 *  that may lose a message, or crash, if another thread matches it at that moment; see thence_cancel(). The pools
 *  cannot keep all threads out of MPI. So receive with `thence::uncancellable` what must not be lost, and let the
 *  sender end it with a message; or have one thread alone call MPI, as above, below `MPI_THREAD_MULTIPLE`.
 *
 *  Lifetime: pools are made after MPI is initialized, outlive their operations and tasks, and are destroyed before
 *  MPI_Finalize. The destructor ends the program where operations are outstanding or tasks wait.
 *
 *  Needs oneTBB 2021.6 or later. Link `thence::pools`, which brings oneTBB and `thence::senders`.
 *
 *  Source: Biddiscombe et al. 2025, sections 2.3 and 3. */

#include <algorithm>
#include <memory>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>

#include <thence/pools/completion_mode.hpp>
#include <thence/pools/detail/library.hpp>
#include <thence/pools/detail/pool_operation.hpp>
#include <thence/pools/detail/waiting.hpp>
#include <thence/pools/scheduler.hpp>
#include <thence/transform_mpi.hpp>

namespace thence {

/** @brief How pools are made. */
struct pools_options {
    /** Threads of oneTBB; those in sync_wait() come on top. 0: only those. Default: one less than oneTBB has. */
    int workers = std::max(1, ::tbb::info::default_concurrency() - 1);
    thence::completion_mode mode = default_completion_mode();
    /** Of the workers' arena, against other arenas of the program. */
    ::tbb::task_arena::priority priority = ::tbb::task_arena::priority::normal;
};

/** @brief See the top of this file. */
class pools {
public:
    /** @throws std::invalid_argument for a bad option; thence::error. */
    explicit pools(const pools_options &options = {})
        : threads_(allow(options.workers + 1)),
          state_(libthence_pools::make(options.workers, options.priority, options.mode)) {}
    pools(const pools &) = delete;
    pools &operator=(const pools &) = delete;
    ~pools() { libthence_pools::destroy(state_); }

    /** @brief The mode of operations that name none. */
    const thence::completion_mode &mode() const noexcept { return state_->mode; }

    /** @brief As thence::transform_mpi(), handled by these pools. Options: those of transform_mpi(), and a
     *         `thence::completion_mode`. Completion signatures are the same. */
    template <class F, class... Given> auto transform_mpi(F &&fn, Given... given) {
        static_assert((std::is_same_v<Given, thence::completion_mode> + ... + 0) <= 1,
                      "transform_mpi: more than one mode");
        static_assert(((std::is_same_v<Given, thence::completion_mode> || detail::mpi_option<Given>)&&...),
                      "transform_mpi: an option is neither one of transform_mpi nor a thence::completion_mode");
        static_assert(!detail::any_of_type<in_completion_t, Given...>,
                      "transform_mpi: thence::in_completion is for operations without pools");
        thence::completion_mode how = state_->mode;
        ((void)detail::take_completion_mode(how, given), ...);
        return detail::transform_closure<std::decay_t<F>, detail::options_from<Given...>, detail::pool_delivery>(
            static_cast<F &&>(fn), detail::pool_delivery{state_, how});
    }

    /** @brief Schedules tasks of the workers. */
    pool_scheduler workers(urgency how = urgency::normal) noexcept {
        return {state_, how == urgency::high ? pool_scheduler::target::workers_first : pool_scheduler::target::workers};
    }
    /** @brief Schedules on the thread that polls, where tasks must be short. */
    pool_scheduler mpi() noexcept { return {state_, pool_scheduler::target::mpi}; }
    /** @brief Runs as a task of the workers at once, on the thread that schedules, without passing their queue. Inside
     *         a callback: after it, as the next task of that thread if it polls for these pools, else of a worker. */
    pool_scheduler bypass() noexcept { return {state_, pool_scheduler::target::bypass}; }

    /** @brief Runs `sender` to its end; this thread works for the pools meanwhile.
     *  @return the values as a tuple, nothing if it was stopped.
     *  @throws what thence::sync_wait() throws; std::logic_error inside a callback, and on
     *          the polling thread of the MPI pool.
     *  @note Threads: up to 7 at once, and tasks of the workers. */
    template <class S> auto sync_wait(S &&s) { return detail::pools_sync_wait(*state_, static_cast<S &&>(s)); }

    /** @brief This thread works for the pools until `condition()` holds, and at least one round, unless it is in a task
     *         of a pool: what is at hand, and a poll, unless another thread polls for these pools. So a program that
     *         calls it before each new piece of work, and finds room for that every time, still gets on with what has
     *         come.
     *  @param condition called between tasks and polls, with a lock held: it reads something that a task or a
     *                   completion makes true, and does nothing else. In a task it must not be what comes after the
     *                   sync_wait() or work_until() of the thread that runs the task: that would wait for itself.
     *  @throws std::logic_error inside a callback, and on the polling thread of the MPI pool.
     *  @note Threads: as for sync_wait(). */
    template <class Condition> void work_until(Condition &&condition) {
        detail::must_be_able_to_wait(*state_);
        state_->arena->execute([&] { detail::wait_in(*state_, condition, true); });
    }

    /** @brief The arena of the workers, for loops and tasks of oneTBB beside those of the pools. */
    ::tbb::task_arena &arena() noexcept { return *state_->arena; }

private:
    /** oneTBB has as many threads as there are cores, in all arenas, unless more are asked for. */
    static std::unique_ptr<::tbb::global_control> allow(int threads) {
        if (threads <= ::tbb::info::default_concurrency())
            return nullptr;
        return std::make_unique<::tbb::global_control>(::tbb::global_control::max_allowed_parallelism,
                                                       static_cast<std::size_t>(threads));
    }

    std::unique_ptr<::tbb::global_control> threads_;
    detail::pools_state *state_;
};

} // namespace thence

#endif // C++20
#endif
