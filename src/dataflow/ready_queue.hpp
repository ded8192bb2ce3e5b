// SPDX-License-Identifier: BSD-3-Clause
// Ready tasks, the highest priority first. Of priority 0, the most deeply nested come first, so that few parents are
// suspended in taskwait at a time. Equal tasks come first in, first out; at the deepest level the order is last in,
// first out. A lock is held, except in best().
//
// Priorities other than 0 are in a heap, since a program may give each task its own.
#pragma once

#include "dataflow/task.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <vector>

namespace thence::dataflow {

class ready_queue {
public:
    static constexpr int none = std::numeric_limits<int>::min();

    // The highest priority in the queue, or `none`. Without the lock it is a hint.
    int best() const noexcept { return best_.load(std::memory_order_relaxed); }
    bool empty() const noexcept { return best() == none; }
    bool has_several() const noexcept {
        const std::uint64_t others_used = used_ & (used_ - 1);
        const bool usual = used_ != 0;
        return others_.size() + (usual ? 1 : 0) > 1 || others_used != 0 ||
               (usual && usual_[std::countr_zero(used_)].has_several());
    }

    void push(task &added) noexcept {
        const int priority = std::max(added.priority, none + 1);
        const bool other = priority != 0 && push_other(priority, added);
        if (!other) {
            push_usual(added);
        }
        if (const int as = other ? priority : 0; as > best()) {
            best_.store(as, std::memory_order_relaxed);
        }
    }
    task *pop() noexcept {
        const int priority = best();
        if (priority == none) {
            return nullptr;
        }
        return priority == 0 ? pop_usual() : pop_other();
    }

private:
    static_assert(task::deepest == 63);

    void push_usual(task &added) noexcept {
        task_list &to = usual_[added.depth];
        if (added.depth == task::deepest) {
            to.push_first(added);
        } else {
            to.push(added);
        }
        used_ |= std::uint64_t{1} << added.depth;
    }
    // best() is 0, so a list of these is not empty: used_ is not 0.
    task *pop_usual() noexcept {
        const int depth = task::deepest - std::countl_zero(used_);
        task *const taken = usual_[depth].pop();
        if (usual_[depth].empty()) {
            used_ &= ~(std::uint64_t{1} << depth); // NOLINT(clang-analyzer-core.BitwiseShift): depth is not negative
            if (used_ == 0) {
                find_best();
            }
        }
        return taken;
    }

    struct entry {
        int priority;
        std::uint64_t arrival;
        task *one;
        // The one that comes first is the first of the heap.
        bool operator<(const entry &than) const noexcept {
            return priority != than.priority ? priority < than.priority : arrival > than.arrival;
        }
    };

    // False without memory: the task then counts as one of priority 0.
    bool push_other(int priority, task &added) noexcept {
        try {
            others_.push_back({priority, ++arrivals_, &added});
        } catch (const std::bad_alloc &) {
            return false;
        }
        std::push_heap(others_.begin(), others_.end());
        return true;
    }
    // best() is not 0, so the heap is not empty.
    task *pop_other() noexcept {
        std::pop_heap(others_.begin(), others_.end());
        task *const taken = others_.back().one;
        others_.pop_back();
        find_best();
        return taken;
    }
    void find_best() noexcept {
        const int usual = used_ == 0 ? none : 0;
        best_.store(others_.empty() ? usual : std::max(usual, others_.front().priority), std::memory_order_relaxed);
    }

    task_list usual_[task::deepest + 1]; // of priority 0, by depth
    std::uint64_t used_ = 0;             // one bit for each of these lists that is not empty
    std::vector<entry> others_;
    std::uint64_t arrivals_ = 0;
    std::atomic<int> best_{none};
};

} // namespace thence::dataflow
