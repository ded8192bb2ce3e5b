// SPDX-License-Identifier: BSD-3-Clause
// A pairing heap of timers, the earliest at its root.
//
// Invariants.
//  - A timer is in the heap from set() until cancel() or until it is taken out to be run, under the lock each.
//  - earliest_ is the time of the heap's root, `never` when it is empty, and written under the lock.
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
        note_earliest();
    }
    void cancel(timer &gone) noexcept {
        const std::scoped_lock lock(mutex_);
        if (!gone.set_)
            return;
        take_out(gone);
        note_earliest();
    }
    bool run() noexcept {
        if (earliest_.load(std::memory_order_relaxed) == never) [[likely]]
            return false;
        return run_due();
    }

private:
    [[gnu::noinline]] bool run_due() noexcept {
        const timer_time time = now();
        bool ran = false;
        while (earliest_.load(std::memory_order_relaxed) <= time) {
            timer *due = nullptr;
            {
                const std::scoped_lock lock(mutex_);
                if (root_ == nullptr || root_->when_ > time)
                    break;
                due = root_;
                take_out(*due);
                note_earliest();
                due->begin();
            }
            due->run();
            ran = true;
        }
        return ran;
    }
    void note_earliest() noexcept {
        earliest_.store(root_ == nullptr ? never : root_->when_, std::memory_order_relaxed);
    }
    void take_out(timer &gone) noexcept {
        timer *below = merge_row(gone.child_);
        if (&gone == root_) {
            root_ = below;
        } else {
            (gone.before_->child_ == &gone ? gone.before_->child_ : gone.before_->next_) = gone.next_;
            if (gone.next_ != nullptr)
                gone.next_->before_ = gone.before_;
            if (below != nullptr)
                root_ = merge(root_, below);
        }
        gone.set_ = false;
    }
    // Two heaps, neither with neighbours.
    static timer *merge(timer *first, timer *later) noexcept {
        if (later->when_ < first->when_)
            std::swap(first, later);
        later->next_ = first->child_;
        if (later->next_ != nullptr)
            later->next_->before_ = later;
        later->before_ = first;
        first->child_ = later;
        return first;
    }
    // Neighbours: in pairs from the left, then all of these from the right.
    static timer *merge_row(timer *row) noexcept {
        timer *pairs = nullptr; // linked by next_, the last first
        while (row != nullptr) {
            timer *pair = row;
            timer *second = row->next_;
            row = second == nullptr ? nullptr : second->next_;
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
