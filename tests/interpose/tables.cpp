// SPDX-License-Identifier: BSD-3-Clause
// The tables of interposed calls that threads change without a lock.
#include "interpose/requests/handle_table.hpp"
#include "interpose/requests/target_set.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <climits>
#include <random>
#include <thread>
#include <vector>

namespace {

using namespace thence::interpose;

template <class Work> void on_threads(int count, Work work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([&work, i] { work(i); });
    }
    for (std::thread &each : threads) {
        each.join();
    }
}

TEST(target_set, holds_each_rank_once) {
    target_set set;
    for (const int rank : {0, 1, 63, 64, 191, 192, 1000, INT_MAX}) {
        if (rank == INT_MAX) { // which would take 256 MiB
            EXPECT_FALSE(set.has(rank));
            EXPECT_FALSE(set.take(rank));
            continue;
        }
        EXPECT_FALSE(set.has(rank));
        EXPECT_TRUE(set.add(rank)) << rank;
        EXPECT_TRUE(set.has(rank));
        EXPECT_FALSE(set.add(rank)) << rank;
    }
    EXPECT_TRUE(set.take(64));
    EXPECT_FALSE(set.take(64));
    EXPECT_FALSE(set.take(65));
    EXPECT_EQ(set.take_all(), 6);
    EXPECT_EQ(set.take_all(), 0);
    EXPECT_TRUE(set.add(64));
}

// Exactly what was added is taken.
TEST(target_set, counts_exactly_on_several_threads) {
    target_set set;
    std::atomic<long> balance{0};
    on_threads(4, [&](int thread) {
        std::minstd_rand random(static_cast<unsigned>(thread) + 1);
        for (int i = 0; i < 100'000; ++i) {
            const auto rank = static_cast<int>(random() % 300);
            switch (random() % 16) {
            case 0:
                balance -= set.take_all();
                break;
            case 1:
            case 2:
            case 3:
                balance -= set.take(rank) ? 1 : 0;
                break;
            default:
                balance += set.add(rank) ? 1 : 0;
            }
        }
    });
    EXPECT_EQ(set.take_all(), balance.load());
}

// Each handle has one value, also while the table grows.
TEST(handle_table, finds_each_handle_at_one_address_on_several_threads) {
    constexpr std::uintptr_t handles = 5000;
    static auto &table = *new handle_table<std::atomic<int>>; // as those of the library it is never freed
    EXPECT_TRUE(table.is_empty());
    EXPECT_EQ(table.find(16), nullptr);
    on_threads(4, [&](int) {
        for (std::uintptr_t i = 1; i <= handles; ++i) {
            std::atomic<int> *const value = table.find_or_enter(64 * i);
            ASSERT_NE(value, nullptr);
            ++*value;
            ASSERT_EQ(table.find(64 * i), value);
        }
    });
    for (std::uintptr_t i = 1; i <= handles; ++i) {
        ASSERT_EQ(table.find(64 * i)->load(), 4);
    }
    EXPECT_EQ(table.find(64 * handles + 64), nullptr);
}

} // namespace
