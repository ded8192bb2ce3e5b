// SPDX-License-Identifier: BSD-3-Clause
// The threads that work for the two queues of `thence::pools`: the workers of an arena of oneTBB, and one thread of our
// own, in an arena of its own so that no task of the workers gets there.
#pragma once

#include "pools/watchdog.hpp"
#include "pools/work_queue.hpp"

#include <thence/error.hpp>

#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <thread>

namespace thence::detail {

// Progress of a pool, and the poll-only continuation request of its operations with the method mpix.
class pool_progress {
public:
    pool_progress() = default;
    pool_progress(const pool_progress &) = delete;
    pool_progress &operator=(const pool_progress &) = delete;
    ~pool_progress();
    void create() { check(thence_cr_create(THENCE_CR_POLL_ONLY, -1, MPI_INFO_NULL, &cr_), "create the pools"); }
    MPI_Request cr() const noexcept { return cr_; }
    void registered() noexcept { on_cr_.fetch_add(1, std::memory_order_relaxed); }
    void completed() noexcept { on_cr_.fetch_sub(1, std::memory_order_relaxed); }
    // By the one that polls, who alone runs timers too, since these cancel, which is best done by who is not inside
    // MPI at that moment. A continuation request is tested by one thread at a time. Errors of MPI itself reach the
    // operations; there is nobody else to tell.
    // @return whether continuations or timers ran; what a test of the continuation request ran is not told.
    bool progress() noexcept;

private:
    MPI_Request cr_ = MPI_REQUEST_NULL;
    std::atomic<long> on_cr_{0};
};

// What both kinds of threads do: progress, deadlines, and telling who looks after them.
class pool_host : public drainer_host {
public:
    // `watch`: null if no other thread may make progress. `beside`: while that queue has operations, somebody
    // else polls; null if a thread that waits must leave it to others in any case.
    void attach(work_queue &queue, watchdog *watch, const work_queue *beside) noexcept;
    pool_progress &polls() noexcept { return progress_; }

    bool progress() noexcept final { return progress_.progress(); }
    bool polls_for_waiting() noexcept final { return beside_ != nullptr && beside_->operations() == 0; }
    void began() noexcept final;

protected:
    work_queue *queue_ = nullptr;

private:
    watchdog *watchdog_ = nullptr;
    const work_queue *beside_ = nullptr;
    pool_progress progress_;
};

// Workers of an arena.
class arena_host final : public pool_host {
public:
    arena_host(int workers, ::tbb::task_arena::priority priority)
        : arena_(workers + static_cast<int>(visitor_slots), visitor_slots, priority), has_workers_(workers > 0) {
        arena_.initialize();
    }
    ::tbb::task_arena &arena() noexcept { return arena_; }
    bool has_workers() const noexcept { return has_workers_; }

    bool call() override;
    // Resumed tasks come after all others, also in nested waits, where oneTBB takes no enqueued ones.
    void yield() noexcept override;

private:
    ::tbb::task_arena arena_;
    bool has_workers_;
};

// One thread, made when it is first called. It stays awake for a moment when it has nothing to do.
class thread_host final : public pool_host {
public:
    ~thread_host() override;

    bool call() override;
    void yield() noexcept override {}

private:
    static constexpr int lingering_looks = 100;

    void run();
    void wait_for_more_than(unsigned served) noexcept;

    std::atomic<bool> started_{false};
    std::atomic<bool> stop_{false};
    std::atomic<bool> asleep_{false};
    std::atomic<unsigned> called_{0}; // calls so far; the thread answers each once
    std::thread thread_;
};

} // namespace thence::detail
