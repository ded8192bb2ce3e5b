// SPDX-License-Identifier: BSD-3-Clause
// A relaxed load that the compiler may fold into the comparison that uses the value. GCC 12 never folds an atomic load:
// that costs one instruction more, and a call that Thence interposes may add six in all.
//
// To the compiler this is a plain load, which it may move and merge. So the caller must make an atomic
// read-modify-write, or call a function of another file, between this load and whatever it must not pass.
#pragma once

#include <atomic>

namespace thence::base {

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

template <class T> struct [[gnu::may_alias]] plain { T value; };

template <class T> [[gnu::always_inline]] inline T load_plain(const std::atomic<T> &from) noexcept {
    static_assert(sizeof(std::atomic<T>) == sizeof(T));
    return reinterpret_cast<const plain<T> *>(&from)->value;
}

// Adds to what only this thread writes, in one instruction instead of three.
template <class T> [[gnu::always_inline]] inline void add_plain(std::atomic<T> &to, T n) noexcept {
    reinterpret_cast<plain<T> *>(&to)->value += n;
}

#else

template <class T> inline void add_plain(std::atomic<T> &to, T n) noexcept {
    to.store(to.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

template <class T> inline T load_plain(const std::atomic<T> &from) noexcept {
    return from.load(std::memory_order_acquire);
}

#endif

} // namespace thence::base
