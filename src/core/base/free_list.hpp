// SPDX-License-Identifier: BSD-3-Clause
// Objects that are not in use, to be used again: a list, linked by their member `next`, the last one first.
//
// Not thread-safe: the list belongs to one thread, or a lock of its owner guards it. It does not own the objects: where
// they are made by take_or_make(), the owner calls delete_all().
#pragma once

#include <new>
#include <utility>

namespace thence::base {

template <class T> class free_list {
public:
    bool empty() const noexcept { return first_ == nullptr; }
    // Null if there is none.
    T *take() noexcept { return empty() ? nullptr : std::exchange(first_, first_->next); }
    // Null only if memory is exhausted.
    T *take_or_make() noexcept { return empty() ? new (std::nothrow) T : take(); }
    void give(T &unused) noexcept { unused.next = std::exchange(first_, &unused); }
    // Gives a list of objects. `end`: the link of the last one.
    void give_all(T *first, T *&end) noexcept { end = std::exchange(first_, first); }
    // Removes all.
    free_list take_all() noexcept { return std::exchange(*this, {}); }
    void delete_all() noexcept {
        while (!empty()) {
            delete take();
        }
    }

private:
    T *first_ = nullptr;
};

} // namespace thence::base
