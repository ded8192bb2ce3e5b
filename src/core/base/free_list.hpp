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
    // There must be one.
    T &take_first() noexcept {
        T &first = *first_;
        first_ = first.next;
        return first;
    }
    // Null if there is none.
    T *take() noexcept { return empty() ? nullptr : &take_first(); }
    // Null only if memory is exhausted.
    T *take_or_make() noexcept { return empty() ? new (std::nothrow) T : &take_first(); }
    void give(T &unused) noexcept {
        unused.next = first_;
        first_ = &unused;
    }
    // Gives a list of objects. `end`: the link of the last one.
    void give_all(T *first, T *&end) noexcept { end = std::exchange(first_, first); }
    // Removes all.
    free_list take_all() noexcept { return std::exchange(*this, {}); }
    void delete_all() noexcept {
        while (!empty()) {
            delete &take_first();
        }
    }

private:
    T *first_ = nullptr;
};

} // namespace thence::base
