// SPDX-License-Identifier: BSD-3-Clause
// Replaces operator new by one that counts the allocations of all threads. Only one file of a program may include this
// header. Tests use it, too.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

namespace measure {

inline std::atomic<long> allocations{0};

} // namespace measure

// These functions cannot be inline, which is no error since only one file of a program includes this header.
// NOLINTBEGIN(misc-definitions-in-headers)
// Not inlined, since GCC would warn about a free() of memory that operator new returned.
[[gnu::noinline]] void *operator new(std::size_t size) {
    measure::allocations.fetch_add(1, std::memory_order_relaxed);
    if (void *p = std::malloc(size)) {
        return p;
    }
    throw std::bad_alloc();
}
// Replaced too: else our operator delete would free memory of the address sanitizer.
[[gnu::noinline]] void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    measure::allocations.fetch_add(1, std::memory_order_relaxed);
    return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void *p) noexcept {
    std::free(p);
}
[[gnu::noinline]] void operator delete(void *p, std::size_t) noexcept {
    std::free(p);
}
// NOLINTEND(misc-definitions-in-headers)
