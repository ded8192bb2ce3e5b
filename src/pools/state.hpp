// SPDX-License-Identifier: BSD-3-Clause
// What `thence::pools` consists of: two queues, the threads that work for them, and the watchdog.
#pragma once

#include "pools/hosts.hpp"
#include "pools/watchdog.hpp"
#include "pools/work_queue.hpp"

namespace thence::detail {

class whole_state final : public pools_state {
public:
    whole_state(int workers, ::tbb::task_arena::priority priority, const thence::completion_mode &usual);
    ~whole_state();
    // What make() returned.
    static whole_state &of(pools_state &pools) noexcept { return static_cast<whole_state &>(pools); }
    static const whole_state &of(const pools_state &pools) noexcept { return static_cast<const whole_state &>(pools); }

    bool accepts(const thence::completion_mode &how) const noexcept;
    const char *refusal(const thence::completion_mode &how) const noexcept;
    // Whether the thread of the MPI pool is the only one that may make progress.
    bool mpi_pool_alone() const noexcept { return level_ != MPI_THREAD_MULTIPLE && mode.mpi_pool; }

    work_queue &queue(pool_queue where) noexcept { return where == pool_queue::mpi ? mpi_ : workers_; }
    const work_queue &queue(pool_queue where) const noexcept { return where == pool_queue::mpi ? mpi_ : workers_; }
    pool_progress &progress(pool_queue where) noexcept {
        return where == pool_queue::mpi ? mpi_host_.polls() : worker_host_.polls();
    }

private:
    bool lacks_workers_for(const thence::completion_mode &how) const noexcept {
        return how.method == completion_method::suspend_resume && !worker_host_.has_workers();
    }

    int level_ = MPI_THREAD_SINGLE;
    arena_host worker_host_;
    thread_host mpi_host_;
    work_queue workers_;
    work_queue mpi_;
    watchdog watchdog_;
};

} // namespace thence::detail
