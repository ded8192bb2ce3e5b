// SPDX-License-Identifier: BSD-3-Clause
#include "tbb/pools/state.hpp"

#include <thence/pools/detail/slow_task.hpp>

#include <cstdio>
#include <exception>
#include <stdexcept>

namespace thence::detail {

namespace {

int checked(int workers) {
    check_mpi_is_active("thence::pools: made");
    if (workers < 0 || workers > 4096) {
        throw std::invalid_argument("thence::pools: workers must be 0 to 4096");
    }
    return workers;
}

} // namespace

pools_implementation::pools_implementation(int workers, ::tbb::task_arena::priority priority,
                                           const thence::completion_mode &usual)
    : pools_state(usual), worker_host_(checked(workers), priority), workers_(worker_host_, workers == 0),
      mpi_(mpi_host_), watchdog_(workers_, mpi_) {
    thence::check(MPI_Query_thread(&level_), "ask for the thread level");
    if (!accepts(usual)) {
        throw std::invalid_argument(refusal(usual));
    }
    worker_host_.poller().create();
    mpi_host_.poller().create();
    arena = &worker_host_.arena();
    slow_limit = detail::slow_limit();
    const bool multiple = level_ == MPI_THREAD_MULTIPLE;
    worker_host_.attach(workers_, multiple ? &watchdog_ : nullptr, mpi_pool_alone() ? nullptr : &mpi_);
    mpi_host_.attach(mpi_, multiple ? &watchdog_ : nullptr, nullptr); // no thread waits in it
    if (multiple) {
        watchdog_.start();
    }
}

pools_implementation::~pools_implementation() {
    if (workers_.busy() || mpi_.busy()) {
        std::fputs("thence: pools are destroyed with operations outstanding or tasks waiting, which would never "
                   "complete. Keep the pools until all of them are complete (sync_wait, or a counting scope)\n",
                   stderr);
        std::terminate();
    }
}

bool pools_implementation::accepts(const thence::completion_mode &how) const noexcept {
    if (lacks_workers_for(how)) {
        return false;
    }
    if (level_ == MPI_THREAD_MULTIPLE) [[likely]] {
        return true;
    }
    if (how.mpi_pool != mode.mpi_pool) {
        return false;
    }
    return how.mpi_pool ? !how.inline_request && !how.bypass && level_ == MPI_THREAD_SERIALIZED
                        : !worker_host_.has_workers();
}

const char *pools_implementation::refusal(const thence::completion_mode &how) const noexcept {
    if (lacks_workers_for(how)) {
        return "thence: suspend-resume needs a task of a worker to suspend, and these pools have none; make them "
               "with workers >= 1, or choose another completion method";
    }
    return "thence: with this mode several threads call MPI; initialize it with MPI_THREAD_MULTIPLE, or make the "
           "pools with workers = 0 and no mpi-pool, or (MPI_THREAD_SERIALIZED) with a mode that has mpi-pool and "
           "not inline-request, and name no other in calls";
}

} // namespace thence::detail
