// SPDX-License-Identifier: BSD-3-Clause
// The lock of those who let MPI make progress for the program.
#include "core/progress/gate.hpp"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using thence::progress::gate;

TEST(gate, is_shared_by_several_threads_at_a_time) {
    gate g;
    const std::shared_lock first(g);
    std::thread([&] {
        const std::shared_lock second(g);
        const std::shared_lock third(g, std::try_to_lock);
        EXPECT_TRUE(third.owns_lock());
    }).join();
}

TEST(gate, is_joined_by_nobody_while_a_thread_waits_to_have_it_alone) {
    gate g;
    std::shared_lock first(g);
    std::atomic<bool> is_alone{false};
    std::thread waits([&] {
        const std::scoped_lock alone(g);
        is_alone = true;
    });
    const auto can_join = [&] { return std::shared_lock(g, std::try_to_lock).owns_lock(); };
    while (can_join()) { // until it waits
        std::this_thread::sleep_for(1ms);
    }
    std::atomic<bool> has_joined{false};
    std::thread later([&] {
        const std::shared_lock joined(g);
        EXPECT_TRUE(is_alone);
        has_joined = true;
    });
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(is_alone);
    EXPECT_FALSE(has_joined);
    EXPECT_FALSE(can_join());
    first.unlock();
    waits.join();
    later.join();
    EXPECT_TRUE(can_join());
}

TEST(gate, keeps_out_others_from_who_has_it_alone) {
    gate g;
    long both = 0; // changed by who is alone, read by who shares it
    std::vector<std::thread> all;
    for (int i = 0; i < 4; ++i) {
        all.emplace_back([&, i] {
            for (int round = 0; round < 2000; ++round) {
                if (i == 0) {
                    const std::scoped_lock alone(g);
                    ++both;
                    ++both;
                } else if (const std::shared_lock shared(g, std::try_to_lock); shared.owns_lock()) {
                    EXPECT_EQ(both % 2, 0);
                } else {
                    const std::shared_lock waited(g);
                    EXPECT_EQ(both % 2, 0);
                }
            }
        });
    }
    for (std::thread &each : all) {
        each.join();
    }
    EXPECT_EQ(both, 4000);
}

} // namespace
