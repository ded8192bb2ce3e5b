// SPDX-License-Identifier: BSD-3-Clause
// What it costs that many tasks sleep. Operator new counts the allocations of all threads.
#include "dataflow/timer.hpp"

#include "measure/count_allocations.hpp"

#include <gtest/gtest.h>

// Each allocation copies all that sleep.
TEST(timer, many_sleepers_take_few_allocations) {
    constexpr int sleepers = 20'000;
    constexpr std::uint64_t hour = 3'600'000'000'000;
    const long before = measure::allocations;
    for (int i = 0; i < sleepers; ++i) {
        ASSERT_TRUE(thence::dataflow::call_after(
            hour, [](void *) noexcept {}, nullptr));
    }
    EXPECT_LT(measure::allocations - before, 50);
}
