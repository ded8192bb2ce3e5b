// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>

namespace thence::progress {

// A reader-writer lock that prefers writers, for std::shared_lock and std::scoped_lock. glibc's, which is under
// std::shared_mutex, prefers readers: polls that follow each other could keep a cancel out for ever.
//
// Invariant: a writer holds `next_` while it waits, and a reader needs `next_` to begin. So a writer waits only for
// readers that have begun already.
//
// A writer may lock it again, as where MPI_Cancel calls a function of the user that cancels another request.
class writer_first_mutex {
public:
    void lock() {
        if (is_writer()) {
            ++locked_again_;
            return;
        }
        const std::scoped_lock guard(next_);
        shared_.lock();
        writer_.store(pthread_self(), std::memory_order_relaxed);
    }
    void unlock() {
        if (locked_again_ > 0) {
            --locked_again_;
            return;
        }
        writer_.store(0, std::memory_order_relaxed);
        shared_.unlock();
    }

    void lock_shared() {
        const std::scoped_lock guard(next_);
        shared_.lock_shared();
    }
    // False also if another thread takes it at this moment.
    bool try_lock_shared() {
        const std::unique_lock guard(next_, std::try_to_lock);
        return guard.owns_lock() && shared_.try_lock_shared();
    }
    void unlock_shared() { shared_.unlock_shared(); }

private:
    // Only this thread writes its own id, so that of another one is never taken for it.
    bool is_writer() const { return writer_.load(std::memory_order_relaxed) == pthread_self(); }

    std::mutex next_;
    std::shared_mutex shared_;
    std::atomic<pthread_t> writer_{0}; // 0: none
    int locked_again_ = 0;             // by the writer
};

} // namespace thence::progress
