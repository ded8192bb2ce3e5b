// SPDX-License-Identifier: BSD-3-Clause
// A list of tasks, linked by their member `next`.
#pragma once

#include <utility>

namespace thence::workers {

// First in, first out. Not thread-safe.
template <class Task> class task_list {
public:
    bool empty() const noexcept { return first_ == nullptr; }
    bool has_several() const noexcept { return first_ != nullptr && first_->next != nullptr; }
    void push(Task &added) noexcept {
        added.next = nullptr;
        (first_ == nullptr ? first_ : last_->next) = &added;
        last_ = &added;
    }
    void push_first(Task &added) noexcept {
        last_ = first_ == nullptr ? &added : last_;
        added.next = std::exchange(first_, &added);
    }
    Task *pop() noexcept {
        Task *const taken = first_;
        if (taken != nullptr) {
            first_ = taken->next;
        }
        return taken;
    }
    // Removes all tasks. Returns the first one, linked to the others.
    Task *take() noexcept { return std::exchange(first_, nullptr); }

private:
    Task *first_ = nullptr;
    Task *last_ = nullptr; // if there is a first one
};

} // namespace thence::workers
