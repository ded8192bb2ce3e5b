// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_POOLS_DETAIL_STATE_HPP
#define THENCE_POOLS_DETAIL_STATE_HPP
#if __cplusplus < 202002L
#error "thence/pools/detail/state.hpp needs C++20: compile with -std=c++20"
#else

// What `thence::pools` consists of, and how a task gets to its place.

#include <cstdio>
#include <exception>
#include <stdexcept>

#include <thence/pools/detail/hosts.hpp>
#include <thence/pools/detail/slow_task.hpp>
#include <thence/pools/mode.hpp>
#include <thence/senders/detail/continuation_requests.hpp>

namespace thence::detail {

struct pools_state {
    pools_state(int worker_count, ::tbb::task_arena::priority priority, const thence::mode &usual)
        : mode(usual), worker_host(checked(worker_count), priority), workers(worker_host, worker_count == 0),
          mpi(mpi_host), watch(workers, mpi) {
        thence::check(MPI_Query_thread(&level), "ask for the thread level");
        const bool multiple = level == MPI_THREAD_MULTIPLE;
        worker_host.polls().create();
        mpi_host.polls().create();
        slow_limit = detail::slow_limit(mpi_host.polls().cr());
        worker_host.attach(workers, multiple ? &watch : nullptr, mpi_pool_alone() ? nullptr : &mpi);
        mpi_host.attach(mpi, multiple ? &watch : nullptr, nullptr); // nobody waits in it
        if (multiple)
            watch.start();
    }
    pools_state(const pools_state &) = delete;
    pools_state &operator=(const pools_state &) = delete;
    ~pools_state() {
        if (workers.busy() || mpi.busy()) {
            std::fputs("thence: pools are destroyed with operations outstanding or tasks waiting, which would never "
                       "complete. Keep the pools until all of them have (sync_wait, or a counting scope)\n",
                       stderr);
            std::terminate();
        }
    }

    /** Whether operations can be handled so. Below MPI_THREAD_MULTIPLE one thread alone calls MPI: that of the MPI
     * pool, or the one that waits; which one is up to the pools' own mode. */
    bool accepts(const thence::mode &how) const noexcept {
        if (how.method == handler::suspend_resume && !worker_host.has_workers())
            return false;
        if (level == MPI_THREAD_MULTIPLE) [[likely]]
            return true;
        if (how.mpi_pool != mode.mpi_pool)
            return false;
        return how.mpi_pool ? !how.inline_request && !how.bypass && level == MPI_THREAD_SERIALIZED
                            : !worker_host.has_workers();
    }
    /** Whether the thread of the MPI pool is the only one that may make progress. */
    bool mpi_pool_alone() const noexcept { return level != MPI_THREAD_MULTIPLE && mode.mpi_pool; }
    /** Why not. */
    const char *refusal(const thence::mode &how) const noexcept {
        if (how.method == handler::suspend_resume && !worker_host.has_workers())
            return "thence: suspend-resume needs a task of a worker to suspend, and these pools have none; make them "
                   "with workers >= 1, or choose another handler method";
        return "thence: with this mode several threads call MPI; initialize it with MPI_THREAD_MULTIPLE, or make the "
               "pools with workers = 0 and no mpi-pool, or (MPI_THREAD_SERIALIZED) with a mode that has mpi-pool and "
               "not inline-request, and name no other in calls";
    }

    work_queue &polling(const thence::mode &how) noexcept { return how.mpi_pool ? mpi : workers; }
    pool_progress &progress(const thence::mode &how) noexcept {
        return how.mpi_pool ? mpi_host.polls() : worker_host.polls();
    }
    static void give(work_queue &queue, pool_task &task, urgency how) noexcept {
        if (!queue.push_to_poller(task, how))
            queue.push(task, how);
    }
    /** Runs the task as one of the workers at once, without their queue, unless this thread is in a callback: then as
     *  soon as it has left it. `in_arena` does for the polling thread of the MPI pool what this does here. */
    void bypass(pool_task &task, void (*in_arena)(pool_task *) noexcept) noexcept {
        if (workers.go_on_here([&] { task.run(&task); }))
            return;
        if (!completing) {
            worker_host.arena().execute([&] { task.run(&task); });
        } else if (auto *const run = task.run; !workers.push_to_poller(task, urgency::high)) {
            task.run = in_arena;
            if (!mpi.push_to_poller(task, urgency::high)) {
                task.run = run;
                workers.push(task, urgency::high);
            }
        }
    }

    const thence::mode mode;
    int level = MPI_THREAD_SINGLE;
    timer_time slow_limit = 0; // see slow_task.hpp
    arena_host worker_host;
    thread_host mpi_host;
    work_queue workers;
    work_queue mpi;
    relief watch;

private:
    static int checked(int worker_count) {
        if (worker_count < 0 || worker_count > 4096)
            throw std::invalid_argument("thence::pools: workers must be 0 to 4096");
        return worker_count;
    }
};

} // namespace thence::detail

#endif // C++20
#endif
