// SPDX-License-Identifier: BSD-3-Clause
// A lane notices a message of another lane, another round or its own direction, and a single wrong byte.
#include "latency_mt/lane.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace {

using latency_mt::Lane;

// Delivers what `from` has written to `to`, and returns what `to` says about it.
std::string deliver(Lane &from, Lane &to, int sent_round, int round, bool whole) {
    from.write(sent_round, whole);
    std::memcpy(to.incoming(), from.outgoing(), static_cast<std::size_t>(to.bytes()));
    to.check(round, whole);
    return to.wrong();
}

TEST(lane, right_messages_are_right) {
    Lane from(3, 0, 1000), to(3, 1, 1000);
    for (int round = 0; round < 300; ++round) {
        EXPECT_EQ(deliver(from, to, round, round, round % 2 == 0), "");
        EXPECT_EQ(deliver(to, from, round, round, round % 2 == 0), "");
    }
}

TEST(lane, a_message_of_one_byte_is_checked) {
    Lane from(0, 0, 1), to(0, 1, 1);
    EXPECT_EQ(deliver(from, to, 5, 5, false), "");
    EXPECT_NE(deliver(from, to, 5, 6, false), "");
}

TEST(lane, another_lane_another_round_and_the_own_message_are_wrong) {
    for (const bool whole : {false, true}) {
        Lane from(0, 0, 64), neighbour(1, 0, 64), same_side(0, 1, 64);
        Lane first(0, 1, 64), second(0, 1, 64), third(0, 1, 64);
        EXPECT_NE(deliver(neighbour, first, 2, 2, whole), "");
        EXPECT_NE(deliver(from, second, 2, 3, whole), "");
        EXPECT_NE(deliver(same_side, third, 2, 2, whole), "");
    }
}

TEST(lane, a_message_that_does_not_arrive_is_wrong) {
    Lane from(0, 0, 64), to(0, 1, 64);
    EXPECT_EQ(deliver(from, to, 2, 2, false), "");
    to.check(2, false);
    EXPECT_NE(to.wrong(), "");
}

TEST(lane, one_wrong_byte_is_named) {
    Lane from(4, 0, 64), to(4, 1, 64);
    from.write(7, true);
    std::memcpy(to.incoming(), from.outgoing(), 64);
    to.incoming()[40] = static_cast<char>(to.incoming()[40] + 1);
    to.check(7, true);
    const std::string right = std::to_string(static_cast<unsigned char>(from.outgoing()[40]));
    EXPECT_EQ(to.wrong().find("lane 4, round 7, byte 40 of 64: found "), 0U) << to.wrong();
    EXPECT_NE(to.wrong().find(", expected " + right + ", difference 1"), std::string::npos) << to.wrong();
}

TEST(lane, a_message_that_has_arrived_is_checked_and_costs_its_processor_time) {
    constexpr apps::Nanoseconds cost = 2'000'000;
    Lane from(0, 0, 64), to(0, 1, 64, cost);
    std::memcpy(to.incoming(), from.outgoing(), 64);
    const long begin = apps::processor_time();
    to.arrived(1, true);
    EXPECT_GE(apps::processor_time() - begin, cost);
    EXPECT_NE(to.wrong(), "");
}

TEST(computing, is_that_of_the_rank_or_the_lane) {
    latency_mt::Computing computing{2.5};
    EXPECT_EQ(computing.of(1, 3), 2500);
    computing.imbalance = apps::parse_imbalance("4@rank:1", {"rank", "lanes"});
    EXPECT_EQ(computing.of(1, 3), 10000);
    EXPECT_EQ(computing.of(0, 1), 2500);
    computing.imbalance = apps::parse_imbalance("4@lanes:1,3", {"rank", "lanes"});
    for (const int rank : {0, 1}) {
        EXPECT_EQ(computing.of(rank, 3), 10000);
        EXPECT_EQ(computing.of(rank, 2), 2500);
        EXPECT_TRUE(computing.is_dear(rank, 1));
        EXPECT_FALSE(computing.is_dear(rank, 0));
    }
}

} // namespace
