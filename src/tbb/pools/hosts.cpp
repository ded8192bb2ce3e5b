// SPDX-License-Identifier: BSD-3-Clause
#include "tbb/pools/hosts.hpp"

#include <thence/detail/start_thread.hpp>
#include <thence/senders/detail/continuation_requests.hpp>

#include <thence/detail/atomic.hpp>

namespace thence::detail {

pool_poller::~pool_poller() {
    if (cr_ != MPI_REQUEST_NULL && mpi_inactive_reason() == nullptr) { // MPI_Finalize frees what is left
        thence_free(&cr_);
    }
}

bool pool_poller::poll() noexcept {
    int flag = 0;
    long ran = 0;
    bool timers_ran = false;
    {
        const completing_scope inside; // the work that follows a deadline must not wait here, as in a callback
        timers_ran = libthence_senders::run_timers();
    }
    if (registered_.load(std::memory_order_relaxed) == 0) {
        thence_progress_some(&ran);
    } else {
        thence_test(&cr_, &flag, MPI_STATUS_IGNORE);
    }
    return timers_ran || ran > 0;
}

bool pool_host::progress() noexcept {
    return poller_.poll();
}

void pool_host::attach(work_queue &queue, watchdog *watch, const work_queue *other) noexcept {
    queue_ = &queue;
    watchdog_ = watch;
    other_queue_ = other;
}

void pool_host::began() noexcept {
    if (watchdog_ != nullptr) {
        watchdog_->began();
    }
}

bool arena_host::call() {
    if (has_workers_) {
        arena_.call([](void *queue) noexcept { static_cast<work_queue *>(queue)->run_as_worker(); }, queue_);
    }
    return has_workers_;
}

void arena_host::yield() noexcept {
    workers::yield();
}

thread_host::~thread_host() {
    stop_.store(true, std::memory_order_relaxed);
    called_.fetch_add(1, std::memory_order_release);
    called_.notify_one();
    if (thread_.joinable()) {
        thread_.join();
    }
}

bool thread_host::call() {
    if (!started_.exchange(true, std::memory_order_relaxed)) {
        try {
            thread_ = start_thread([this] { run(); });
        } catch (...) {
            started_.store(false, std::memory_order_relaxed);
            return false;
        }
    }
    called_.fetch_add(1, std::memory_order_seq_cst);
    if (asleep_.load(std::memory_order_seq_cst)) {
        called_.notify_one();
    }
    return true;
}

void thread_host::run() {
    ::tbb::task_arena alone(1, 1);
    for (unsigned served = 0;;) {
        wait_for_call(served);
        if (stop_.load(std::memory_order_relaxed)) {
            return;
        }
        ++served;
        alone.execute([this] { queue_->run_as_worker(); });
    }
}

void thread_host::wait_for_call(unsigned served) noexcept {
    spin_wait wait;
    for (unsigned spins = 0; spins < spins_before_sleep; ++spins) {
        if (called_.load(std::memory_order_acquire) != served) {
            return;
        }
        wait();
    }
    asleep_.store(true, std::memory_order_seq_cst);
    called_.wait(served, std::memory_order_seq_cst);
    asleep_.store(false, std::memory_order_relaxed);
}

} // namespace thence::detail
