// SPDX-License-Identifier: BSD-3-Clause
// A list of objects that are linked by their member `next`, the oldest first. Nothing is allocated, so adding cannot
// fail.
//
// Not thread-safe: it belongs to one thread, or a lock of its owner guards it. It does not own the objects. Invariant:
// an object is in one list at a time.
#pragma once

#include <utility>

namespace thence::base {

template <class T> class linked_list {
public:
    linked_list() noexcept = default;
    linked_list &operator=(linked_list &&) = delete;

    bool empty() const noexcept { return first_ == nullptr; }
    T *first() const noexcept { return first_; }

    void add(T &added) noexcept {
        added.next = nullptr;
        *end_ = &added;
        end_ = &added.next;
    }
    // Null: it is empty.
    T *pop() noexcept {
        T *const popped = first_;
        if (popped != nullptr && (first_ = popped->next) == nullptr) {
            end_ = &first_;
        }
        return popped;
    }
    // Takes all of another list, and puts them before those of this one.
    void add_before(linked_list &these) noexcept {
        if (these.empty()) {
            return;
        }
        *these.end_ = first_;
        if (empty()) {
            end_ = these.end_;
        }
        first_ = std::exchange(these.first_, nullptr);
        these.end_ = &these.first_;
    }

private:
    T *first_ = nullptr;
    T **end_ = &first_; // the link of the last one
};

} // namespace thence::base
