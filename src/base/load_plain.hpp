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

#else

template <class T> inline T load_plain(const std::atomic<T> &from) noexcept {
    return from.load(std::memory_order_acquire);
}

#endif

} // namespace thence::base
