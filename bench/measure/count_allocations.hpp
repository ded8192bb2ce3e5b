// SPDX-License-Identifier: BSD-3-Clause
// Replaces operator new by one that counts. Only one file of a program may include this header.
#pragma once

#include <cstdlib>
#include <new>

namespace measure {

inline long allocations = 0;

} // namespace measure

// These functions cannot be inline, which is no error since only one file of a program includes this header.
// NOLINTBEGIN(misc-definitions-in-headers)
// Not inlined, since GCC would warn about a free() of memory that operator new returned.
[[gnu::noinline]] void *operator new(std::size_t size) {
    ++measure::allocations;
    if (void *p = std::malloc(size)) {
        return p;
    }
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void *p) noexcept {
    std::free(p);
}
[[gnu::noinline]] void operator delete(void *p, std::size_t) noexcept {
    std::free(p);
}
// NOLINTEND(misc-definitions-in-headers)
