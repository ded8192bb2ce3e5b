// SPDX-License-Identifier: BSD-3-Clause
// Tasks that are ready, the highest priority first. Of priority 0, those that are nested most deeply come first: so few
// parents are suspended in taskwait at a time, also where each task waits for its children. What is equal comes in the order
// of arrival, but at the deepest level in the reverse order. Used under a lock, but for best().
#pragma once

#include "dataflow/task.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

namespace thence::dataflow {

class ready_queue {
public:
    static constexpr int none = std::numeric_limits<int>::min();

    // The highest priority of a task in the queue, or `none`. Any thread: for a hint.
    int best() const noexcept { return best_.load(std::memory_order_relaxed); }
    bool empty() const noexcept { return best() == none; }

    // Throws std::bad_alloc if the priority has not been used before.
    void push(task &added) {
        const int priority = std::max(added.priority, none + 1);
        if (priority == 0)
            push_usual(added);
        else
            list_of(priority).push(added);
        if (priority > best())
            best_.store(priority, std::memory_order_relaxed);
    }
    task *pop() noexcept {
        const int priority = best();
        if (priority == none)
            return nullptr;
        if (priority == 0)
            return pop_usual();
        task_list &from = list_of(priority);
        task *const taken = from.pop();
        if (from.empty())
            find_best();
        return taken;
    }

private:
    static_assert(task::deepest == 63);

    void push_usual(task &added) noexcept {
        task_list &to = usual_[added.depth];
        if (added.depth == task::deepest)
            to.push_first(added);
        else
            to.push(added);
        used_ |= std::uint64_t{1} << added.depth;
    }
    // best() is 0, so a list of these is not empty: used_ is not 0.
    task *pop_usual() noexcept {
        const int depth = task::deepest - std::countl_zero(used_);
        task *const taken = usual_[depth].pop();
        if (usual_[depth].empty()) {
            used_ &= ~(std::uint64_t{1} << depth); // NOLINT(clang-analyzer-core.BitwiseShift): depth is not negative
            if (used_ == 0)
                find_best();
        }
        return taken;
    }

    struct level {
        int priority;
        task_list tasks;
    };

    // Levels stay once they are used, the highest first.
    task_list &list_of(int priority) {
        const auto at = std::lower_bound(levels_.begin(), levels_.end(), priority,
                                         [](const level &one, int wanted) { return one.priority > wanted; });
        if (at != levels_.end() && at->priority == priority)
            return at->tasks;
        return levels_.insert(at, {priority, {}})->tasks;
    }
    void find_best() noexcept {
        int found = used_ == 0 ? none : 0;
        for (const level &one : levels_) {
            if (!one.tasks.empty()) {
                found = std::max(found, one.priority);
                break;
            }
        }
        best_.store(found, std::memory_order_relaxed);
    }

    task_list usual_[task::deepest + 1]; // of priority 0, by depth
    std::uint64_t used_ = 0;             // one bit for each of these lists that is not empty
    std::vector<level> levels_;
    std::atomic<int> best_{none};
};

} // namespace thence::dataflow
