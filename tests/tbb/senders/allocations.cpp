// SPDX-License-Identifier: BSD-3-Clause
// Counts what the program allocates with operator new.
#include "support.hpp"

#include <cstdlib>
#include <new>

std::atomic<long> sender_tests::allocations{0};

void *operator new(std::size_t size) {
    sender_tests::allocations.fetch_add(1, std::memory_order_relaxed);
    if (void *p = std::malloc(size)) {
        return p;
    }
    throw std::bad_alloc();
}
// Replaced too: else our operator delete would free memory of the address sanitizer.
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    sender_tests::allocations.fetch_add(1, std::memory_order_relaxed);
    return std::malloc(size);
}
void operator delete(void *p) noexcept {
    std::free(p);
}
void operator delete(void *p, std::size_t) noexcept {
    std::free(p);
}
