// SPDX-License-Identifier: BSD-3-Clause
// Relaxed accesses to an atomic that the compiler may fold into one instruction with what is done with the value. GCC
// 12 never folds an atomic access: that costs two instructions more, and here that is much of what a call may cost.
//
// On x86-64 the access is the same either way. To the compiler it is a plain one, so it may be moved and merged like
// one: the caller separates it from what it must not pass by an atomic read-modify-write, or by a call into another
// file.
#pragma once

#include <atomic>

namespace thence::base {

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

template <class T> struct [[gnu::may_alias]] folded { T value; };

template <class T> [[gnu::always_inline]] inline T peek(const std::atomic<T> &from) noexcept {
    static_assert(sizeof(std::atomic<T>) == sizeof(T));
    return reinterpret_cast<const folded<T> *>(&from)->value;
}

// Adds to what only this thread writes.
template <class T> [[gnu::always_inline]] inline void add_alone(std::atomic<T> &to, T n) noexcept {
    reinterpret_cast<folded<T> *>(&to)->value += n;
}

// The same, and returns the sum.
template <class T> [[gnu::always_inline]] inline T sum_alone(std::atomic<T> &to, T n) noexcept {
    return reinterpret_cast<folded<T> *>(&to)->value += n;
}

#else

template <class T> inline T peek(const std::atomic<T> &from) noexcept {
    return from.load(std::memory_order_acquire);
}

template <class T> inline T sum_alone(std::atomic<T> &to, T n) noexcept {
    const T sum = to.load(std::memory_order_relaxed) + n;
    to.store(sum, std::memory_order_relaxed);
    return sum;
}

template <class T> inline void add_alone(std::atomic<T> &to, T n) noexcept {
    sum_alone(to, n);
}

#endif

} // namespace thence::base
