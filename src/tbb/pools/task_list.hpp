// SPDX-License-Identifier: BSD-3-Clause
// The list of tasks of the pools, and the lock of their queues.
#pragma once

#include <thence/detail/atomic.hpp>
#include <thence/pools/detail/exports.hpp>

#include <atomic>

namespace thence::detail {

// For critical sections of a few instructions. A waiter spins, then sleeps: the holder may wait for this processor.
class spin_mutex {
public:
    void lock() noexcept {
        for (spin_wait wait; held_.exchange(true, std::memory_order_acquire);) {
            while (held_.load(std::memory_order_relaxed)) {
                wait.wait();
            }
        }
    }
    void unlock() noexcept { held_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> held_{false};
};

// First in, first out. Not thread-safe.
class task_list {
public:
    bool empty() const noexcept { return first_ == nullptr; }
    void push(pool_task &added) noexcept {
        added.next = nullptr;
        (first_ == nullptr ? first_ : last_->next) = &added;
        last_ = &added;
    }
    pool_task *pop() noexcept {
        pool_task *const taken = first_;
        if (taken != nullptr) {
            first_ = taken->next;
        }
        return taken;
    }
    // Removes all tasks. Returns the first one, linked to the others.
    pool_task *take() noexcept {
        pool_task *const all = first_;
        first_ = nullptr;
        return all;
    }

private:
    pool_task *first_ = nullptr;
    pool_task *last_ = nullptr; // if there is a first one
};

} // namespace thence::detail
