// SPDX-License-Identifier: BSD-3-Clause
// The hosts of the two queues of `thence::pools`. The threads of the queue `workers` are those of an arena of oneTBB.
// The queue `mpi` has one thread of our own. It runs in an arena of its own, so it takes no tasks of the workers.
#pragma once

#include "tbb/pools/watchdog.hpp"
#include "tbb/pools/work_queue.hpp"
#include "tbb/workers/arena_implementation.hpp"

#include <thence/error.hpp>

#include <atomic>
#include <memory>
#include <thread>

namespace thence::detail {

// Makes progress for a pool. Owns the poll-only continuation request of the pool's operations with the method mpix.
class pool_poller {
public:
    pool_poller &operator=(pool_poller &&) = delete;
    ~pool_poller();
    void create() { check(thence_cr_create(THENCE_CR_POLL_ONLY, -1, MPI_INFO_NULL, &cr_), "create the pools"); }
    MPI_Request cr() const noexcept { return cr_; }
    // Counts an operation that is registered with cr(), from before it is attached until it is complete.
    void registered() noexcept { registered_.fetch_add(1, std::memory_order_relaxed); }
    void completed() noexcept { registered_.fetch_sub(1, std::memory_order_relaxed); }
    // Polls once, after running timers. Only one thread may call it at a time, since it may test a continuation
    // request. The polling thread runs the timers since they may cancel operations: a thread that is not inside MPI
    // does that best (see thence_cancel()). It ignores errors of MPI, which operations report themselves.
    // @return true if continuations or timers ran. Those that a test of the continuation request ran do not count.
    bool poll() noexcept;

private:
    MPI_Request cr_ = MPI_REQUEST_NULL;
    std::atomic<long> registered_{0};
};

// What both hosts have in common: they poll, and wake the watchdog.
class pool_host : public runner_host {
public:
    // `watch`: null if no other thread may make progress. `other`: the other queue of the pools; while it has
    // operations, a thread polls for it. Null if threads that wait in this queue must not poll for other operations.
    void attach(work_queue &queue, watchdog *watch, const work_queue *other) noexcept;
    pool_poller &poller() noexcept { return poller_; }

    bool progress() noexcept final;
    bool polls_for_waiting() noexcept final { return other_queue_ != nullptr && other_queue_->operations() == 0; }
    void began() noexcept final;

protected:
    work_queue *queue_ = nullptr;

private:
    watchdog *watchdog_ = nullptr;
    const work_queue *other_queue_ = nullptr;
    pool_poller poller_;
};

// Workers of an arena.
class arena_host final : public pool_host {
public:
    arena_host(int workers, ::tbb::task_arena::priority priority)
        : arena_(std::make_unique<workers::arena::implementation>(workers + static_cast<int>(visitor_slots),
                                                                  visitor_slots, priority)),
          has_workers_(workers > 0) {}
    ::tbb::task_arena &arena() noexcept { return arena_.inside().arena; }
    bool has_workers() const noexcept { return has_workers_; }

    bool call() override;
    // Suspends this task and resumes it. oneTBB takes a resumed task when the thread has no other, also in nested
    // waits, where it takes no enqueued tasks.
    void yield() noexcept override;

private:
    workers::arena arena_;
    bool has_workers_;
};

// One thread, created by the first call(). When it has nothing to do, it spins for a while before it sleeps.
class thread_host final : public pool_host {
public:
    ~thread_host() override;

    bool call() override;
    void yield() noexcept override {}

private:
    static constexpr unsigned spins_before_sleep = 500; // with a pause instruction: some 10 us

    void run();
    void wait_for_call(unsigned served) noexcept;

    std::atomic<bool> started_{false};
    std::atomic<bool> stop_{false};
    std::atomic<bool> asleep_{false};
    std::atomic<unsigned> called_{0}; // the number of calls; the thread runs as a worker once for each
    std::thread thread_;
};

} // namespace thence::detail
