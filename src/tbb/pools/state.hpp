// SPDX-License-Identifier: BSD-3-Clause
// The implementation of `thence::pools`: two queues, their hosts, and the watchdog.
#pragma once

#include "tbb/pools/hosts.hpp"
#include "tbb/pools/watchdog.hpp"
#include "tbb/pools/work_queue.hpp"

namespace thence::detail {

class pools_implementation final : public pools_state {
public:
    pools_implementation(int workers, ::tbb::task_arena::priority priority, const thence::completion_mode &usual);
    ~pools_implementation();

    // True if these pools can handle operations in this mode.
    bool accepts(const thence::completion_mode &how) const noexcept;
    // The reason if not, as the text of an exception.
    const char *refusal(const thence::completion_mode &how) const noexcept;
    // True if only the thread of the MPI pool may make progress.
    bool mpi_pool_alone() const noexcept { return level_ != MPI_THREAD_MULTIPLE && mode.mpi_pool; }

    work_queue &queue(pool_queue where) noexcept { return where == pool_queue::mpi ? mpi_ : workers_; }
    const work_queue &queue(pool_queue where) const noexcept { return where == pool_queue::mpi ? mpi_ : workers_; }
    pool_poller &poller(pool_queue where) noexcept {
        return where == pool_queue::mpi ? mpi_host_.poller() : worker_host_.poller();
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

// `pools` is what make() has returned.
inline pools_implementation &implementation_of(pools_state &pools) noexcept {
    return static_cast<pools_implementation &>(pools);
}
inline const pools_implementation &implementation_of(const pools_state &pools) noexcept {
    return static_cast<const pools_implementation &>(pools);
}

} // namespace thence::detail
