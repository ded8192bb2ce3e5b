// SPDX-License-Identifier: BSD-3-Clause
// The list of tasks of the pools.
#pragma once

#include <thence/pools/detail/exports.hpp>

namespace thence::detail {

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
