// SPDX-License-Identifier: BSD-3-Clause
// Tasks that are ready, the highest priority first, and of one priority in the order of their arrival. Used under a
// lock, but for best().
#pragma once

#include "dataflow/task.hpp"

#include <algorithm>
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
        (priority == 0 ? usual_ : list_of(priority)).push(added);
        if (priority > best())
            best_.store(priority, std::memory_order_relaxed);
    }
    task *pop() noexcept {
        const int priority = best();
        if (priority == none)
            return nullptr;
        task_list &from = priority == 0 ? usual_ : list_of(priority);
        task *const taken = from.pop();
        if (from.empty())
            find_best();
        return taken;
    }

private:
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
        int found = usual_.empty() ? none : 0;
        for (const level &one : levels_) {
            if (!one.tasks.empty()) {
                found = std::max(found, one.priority);
                break;
            }
        }
        best_.store(found, std::memory_order_relaxed);
    }

    task_list usual_; // of priority 0
    std::vector<level> levels_;
    std::atomic<int> best_{none};
};

} // namespace thence::dataflow
