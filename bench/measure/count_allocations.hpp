// SPDX-License-Identifier: BSD-3-Clause
// Replaces operator new in the program that includes it, in one file, by one that counts.
#pragma once

#include <cstdlib>
#include <new>

namespace measure {

inline long allocations = 0;

} // namespace measure

// Of the one file of a program that includes this: these cannot be inline.
// NOLINTBEGIN(misc-definitions-in-headers)
// Not inlined, where GCC would take the free() of what new returned for a mistake.
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
