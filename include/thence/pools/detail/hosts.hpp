// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_POOLS_DETAIL_HOSTS_HPP
#define THENCE_POOLS_DETAIL_HOSTS_HPP
#if __cplusplus < 202002L
#error "thence/pools/detail/hosts.hpp needs C++20: compile with -std=c++20"
#else

// The threads that work for the two queues of `thence::pools`: the workers of an arena of oneTBB, and one thread of our
// own, in an arena of its own so that no task of the workers gets there.

#include <atomic>
#include <thread>

#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>

#include <thence/error.hpp>
#include <thence/pools/detail/relief.hpp>
#include <thence/pools/detail/work_queue.hpp>
#include <thence/senders/detail/continuation_requests.hpp>
#include <thence/senders/detail/timers.hpp>

namespace thence::detail {

/** Progress of a pool, and the poll-only continuation request of its operations with the method mpix. */
class pool_progress {
public:
    pool_progress() = default;
    pool_progress(const pool_progress &) = delete;
    pool_progress &operator=(const pool_progress &) = delete;
    ~pool_progress() {
        if (cr_ != MPI_REQUEST_NULL)
            thence_free(&cr_);
    }
    void create() { check(thence_cr_create(THENCE_CR_POLL_ONLY, -1, MPI_INFO_NULL, &cr_), "create the pools"); }
    MPI_Request cr() const noexcept { return cr_; }
    void registered() noexcept { on_cr_.fetch_add(1, std::memory_order_relaxed); }
    void completed() noexcept { on_cr_.fetch_sub(1, std::memory_order_relaxed); }
    /** By the one that polls, who alone runs timers too, since these cancel, which is best done by who is not inside
     * MPI at that moment. A continuation request is tested by one thread at a time. Errors of MPI itself reach the
     *  operations; there is nobody else to tell.
     *  @return whether continuations or timers ran; what a test of the continuation request ran is not told. */
    bool progress() noexcept {
        int flag = 0;
        long ran = 0;
        bool timers_ran = false;
        {
            const completing_scope inside; // what a deadline completes must not wait here, as in a callback
            timers_ran = libthence_senders::run_timers();
        }
        if (on_cr_.load(std::memory_order_relaxed) == 0)
            thence_progress_some(&ran);
        else
            thence_test(&cr_, &flag, MPI_STATUS_IGNORE);
        return timers_ran || ran > 0;
    }

private:
    MPI_Request cr_ = MPI_REQUEST_NULL;
    std::atomic<long> on_cr_{0};
};

/** What both kinds of threads do: progress, deadlines, and telling who looks after them. */
class pool_host : public drainer_host {
public:
    /** `watch`: null if nobody can make progress in their place. `beside`: while that queue has operations, somebody
     *  else polls; null if a thread that waits must leave it to others in any case. */
    void attach(work_queue &queue, relief *watch, const work_queue *beside) noexcept {
        queue_ = &queue;
        relief_ = watch;
        beside_ = beside;
    }
    pool_progress &polls() noexcept { return progress_; }

    bool progress() noexcept final { return progress_.progress(); }
    bool polls_for_waiting() noexcept final { return beside_ != nullptr && beside_->operations() == 0; }
    void began() noexcept final {
        if (relief_ != nullptr)
            relief_->began();
    }

protected:
    work_queue *queue_ = nullptr;

private:
    relief *relief_ = nullptr;
    const work_queue *beside_ = nullptr;
    pool_progress progress_;
};

/** Workers of an arena. */
class arena_host final : public pool_host {
public:
    /** Places that are kept for threads that come by themselves: those that wait, and the one that polls. */
    static constexpr unsigned visitors = 8;

    arena_host(int workers, ::tbb::task_arena::priority priority)
        : arena_(workers + static_cast<int>(visitors), visitors, priority), has_workers_(workers > 0) {
        arena_.initialize();
    }
    ::tbb::task_arena &arena() noexcept { return arena_; }
    bool has_workers() const noexcept { return has_workers_; }

    bool call() override {
        if (!has_workers_)
            return false;
        try {
            arena_.enqueue([queue = queue_] { queue->drain_called(); });
            return true;
        } catch (...) {
            return false; // no memory: whoever looks on calls again
        }
    }
    // Resumed tasks come after all others, also in nested waits, where oneTBB takes no enqueued ones.
    void yield() noexcept override {
        ::tbb::task::suspend([](::tbb::task::suspend_point point) { ::tbb::task::resume(point); });
    }

private:
    ::tbb::task_arena arena_;
    bool has_workers_;
};

/** One thread, made when it is first called. It stays awake for a moment when it has nothing to do. */
class thread_host final : public pool_host {
public:
    ~thread_host() override {
        stop_.store(true, std::memory_order_relaxed);
        called_.fetch_add(1, std::memory_order_release);
        called_.notify_one();
        if (thread_.joinable())
            thread_.join();
    }

    bool call() override {
        if (!started_.exchange(true, std::memory_order_relaxed)) {
            try {
                thread_ = std::thread([this] { run(); });
            } catch (...) {
                started_.store(false, std::memory_order_relaxed);
                return false;
            }
        }
        called_.fetch_add(1, std::memory_order_seq_cst);
        if (asleep_.load(std::memory_order_seq_cst))
            called_.notify_one();
        return true;
    }
    void yield() noexcept override {}

private:
    static constexpr int lingering_looks = 100;

    void run() {
        ::tbb::task_arena alone(1, 1);
        for (unsigned served = 0;;) {
            wait_for_more_than(served);
            if (stop_.load(std::memory_order_relaxed))
                return;
            ++served;
            alone.execute([this] { queue_->drain_called(); });
        }
    }
    void wait_for_more_than(unsigned served) noexcept {
        for (int looks = 0; looks < lingering_looks; ++looks) {
            if (called_.load(std::memory_order_acquire) != served)
                return;
            std::this_thread::yield();
        }
        asleep_.store(true, std::memory_order_seq_cst);
        called_.wait(served, std::memory_order_seq_cst);
        asleep_.store(false, std::memory_order_relaxed);
    }

    std::atomic<bool> started_{false};
    std::atomic<bool> stop_{false};
    std::atomic<bool> asleep_{false};
    std::atomic<unsigned> called_{0}; // calls so far; the thread answers each once
    std::thread thread_;
};

} // namespace thence::detail

#endif // C++20
#endif
