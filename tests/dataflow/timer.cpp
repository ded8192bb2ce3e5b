// SPDX-License-Identifier: BSD-3-Clause
// What it costs that many tasks sleep. Operator new counts the allocations of all threads.
#include "dataflow/timer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> allocations{0};

} // namespace

[[gnu::noinline]] void *operator new(std::size_t size) {
    allocations.fetch_add(1, std::memory_order_relaxed);
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

// Each allocation copies all that sleep.
TEST(timer, many_sleepers_take_few_allocations) {
    constexpr int sleepers = 20'000;
    constexpr std::uint64_t hour = 3'600'000'000'000;
    const long before = allocations;
    for (int i = 0; i < sleepers; ++i) {
        ASSERT_TRUE(thence::dataflow::call_after(
            hour, [](void *) noexcept {}, nullptr));
    }
    EXPECT_LT(allocations - before, 50);
}
