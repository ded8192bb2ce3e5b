// SPDX-License-Identifier: BSD-3-Clause
// A pairing heap of timers, the earliest at its root.
//
// Invariants.
//  - A timer is in the heap from set() until cancel(), or until run() removes it. All three hold the lock.
//  - earliest_ is the time of the heap's root, or `never` if the heap is empty. It changes while the lock is held.
#pragma once

#include <thence/senders/detail/timers.hpp>

#include <atomic>
#include <mutex>
#include <utility>

namespace thence::detail {

class timer_heap {
public:
    void set(timer &added, timer_time when) noexcept {
        const std::scoped_lock lock(mutex_);
        added.when_ = when;
        added.child_ = added.next_ = added.before_ = nullptr;
        added.set_ = true;
        root_ = root_ == nullptr ? &added : merge(root_, &added);
        update_earliest();
    }
    void cancel(timer &removed) noexcept {
        const std::scoped_lock lock(mutex_);
        if (!removed.set_) {
            return;
        }
        remove(removed);
        update_earliest();
    }
    bool run() noexcept {
        if (earliest_.load(std::memory_order_relaxed) == never) [[likely]] {
            return false;
        }
        return run_due();
    }

private:
    [[gnu::noinline]] bool run_due() noexcept {
        const timer_time time = read_monotonic_clock();
        bool ran = false;
        while (earliest_.load(std::memory_order_relaxed) <= time) {
            timer *due = nullptr;
            {
                const std::scoped_lock lock(mutex_);
                if (root_ == nullptr || root_->when_ > time) {
                    break;
                }
                due = root_;
                remove(*due);
                update_earliest();
                due->begin();
            }
            due->run();
            ran = true;
        }
        return ran;
    }
    void update_earliest() noexcept {
        earliest_.store(root_ == nullptr ? never : root_->when_, std::memory_order_relaxed);
    }
    void remove(timer &removed) noexcept {
        timer *below = merge_siblings(removed.child_);
        if (&removed == root_) {
            root_ = below;
        } else {
            (removed.before_->child_ == &removed ? removed.before_->child_ : removed.before_->next_) = removed.next_;
            if (removed.next_ != nullptr) {
                removed.next_->before_ = removed.before_;
            }
            if (below != nullptr) {
                root_ = merge(root_, below);
            }
        }
        removed.set_ = false;
    }
    // Merges two heaps whose roots have no siblings. Returns the root.
    static timer *merge(timer *first, timer *later) noexcept {
        if (later->when_ < first->when_) {
            std::swap(first, later);
        }
        later->next_ = first->child_;
        if (later->next_ != nullptr) {
            later->next_->before_ = later;
        }
        later->before_ = first;
        first->child_ = later;
        return first;
    }
    // Merges siblings into one heap: first in pairs from left to right, then the pairs from right to left.
    static timer *merge_siblings(timer *rest) noexcept {
        timer *pairs = nullptr; // linked by next_, the last first
        while (rest != nullptr) {
            timer *pair = rest;
            timer *second = rest->next_;
            rest = second == nullptr ? nullptr : second->next_;
            pair->next_ = pair->before_ = nullptr;
            if (second != nullptr) {
                second->next_ = second->before_ = nullptr;
                pair = merge(pair, second);
            }
            pair->next_ = pairs;
            pairs = pair;
        }
        timer *whole = nullptr;
        while (pairs != nullptr) {
            timer *pair = std::exchange(pairs, pairs->next_);
            pair->next_ = nullptr;
            whole = whole == nullptr ? pair : merge(whole, pair);
        }
        return whole;
    }

    std::atomic<timer_time> earliest_{never};
    std::mutex mutex_;
    timer *root_ = nullptr;
};

} // namespace thence::detail
