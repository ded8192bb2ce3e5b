// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_SENDERS_DETAIL_TIMERS_HPP
#define THENCE_SENDERS_DETAIL_TIMERS_HPP
#if __cplusplus < 202002L
#error "thence/senders/detail/timers.hpp needs C++20: compile with -std=c++20"
#else

// The timers of thence::timeout(): a pairing heap. Whoever makes progress runs those whose time is over.
//
// Invariants.
//  - A timer is in the heap from set() until cancel() or until it is taken out to be run, under the lock each.
//  - A timer's begin() is called under the lock: cancel() after that returns with begin() known to have happened. Its
//    run() is called without the lock, and may destroy the timer.
//  - earliest_ is the time of the heap's root, `never` when it is empty, and written under the lock.

#include <cstdint>
#include <time.h>
#include <utility>

#include <thence/senders/detail/mutex.hpp>

namespace thence {

namespace detail {

/** Nanoseconds of the monotonic clock. */
using timer_time = std::int64_t;

/** In a pairing heap: linked by its address, so it stays where it is while it is set. */
class timer {
public:
    timer() = default;
    timer(timer &&) = delete;

protected:
    ~timer() = default;

private:
    friend class timer_queue;
    virtual void begin() noexcept = 0;
    virtual void run() noexcept = 0;

    timer_time when_ = 0;
    timer *child_ = nullptr;  // the first of those that come later
    timer *next_ = nullptr;   // beside this one
    timer *before_ = nullptr; // the one beside it, or its parent; null for the root
    bool set_ = false;
};

class timer_queue {
public:
    static constexpr timer_time never = INT64_MAX;

    static timer_time now() noexcept {
        timespec time{};
        ::clock_gettime(CLOCK_MONOTONIC, &time);
        return static_cast<timer_time>(time.tv_sec) * 1000000000 + time.tv_nsec;
    }
    void set(timer &added, timer_time when) noexcept {
        const locked lock(mutex_);
        added.when_ = when;
        added.child_ = added.next_ = added.before_ = nullptr;
        added.set_ = true;
        root_ = root_ == nullptr ? &added : merge(root_, &added);
        note_earliest();
    }
    /** On return the timer is in no list, and if it ever runs, begin() has been called. */
    void cancel(timer &gone) noexcept {
        const locked lock(mutex_);
        if (!gone.set_)
            return;
        take_out(gone);
        note_earliest();
    }
    bool run() noexcept {
        if (earliest_.load(order::relaxed) == never) [[likely]]
            return false;
        return run_due();
    }

private:
    [[gnu::noinline]] bool run_due() noexcept {
        const timer_time time = now();
        bool ran = false;
        while (earliest_.load(order::relaxed) <= time) {
            timer *due = nullptr;
            {
                const locked lock(mutex_);
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
    void note_earliest() noexcept { earliest_.store(root_ == nullptr ? never : root_->when_, order::relaxed); }
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
    /** Two heaps, neither with neighbours. */
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
    /** Neighbours: in pairs from the left, then all of these from the right. */
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

    atomic<timer_time> earliest_{never};
    static_mutex mutex_;
    timer *root_ = nullptr;
};

inline constinit timer_queue timers;

} // namespace detail

} // namespace thence

#endif // C++20
#endif
