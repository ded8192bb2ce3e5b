// SPDX-License-Identifier: BSD-3-Clause
// Objects that are not in use, to be used again: a list, linked by their member `next`, the last one first.
//
// free_list is not thread-safe: the list belongs to one thread, or a lock of its owner guards it. shared_free_list has
// its own lock. Neither owns the objects: where they are made by take_or_make(), the owner calls delete_all(), or they
// stay to the end of the process.
#pragma once

#include "core/base/spin_lock.hpp"

#include <mutex>
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

// Memory is allocated outside of the lock, which is held for a few instructions.
template <class T> class shared_free_list {
public:
    T *take() noexcept {
        const std::scoped_lock guard(lock_);
        return list_.take();
    }
    T *take_or_make() noexcept {
        T *const taken = take();
        return taken != nullptr ? taken : new (std::nothrow) T;
    }
    void give(T &unused) noexcept {
        const std::scoped_lock guard(lock_);
        list_.give(unused);
    }

private:
    spin_lock lock_;
    free_list<T> list_;
};

} // namespace thence::base
