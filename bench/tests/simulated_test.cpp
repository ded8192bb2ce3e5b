// SPDX-License-Identifier: BSD-3-Clause
// The figures of simulated_scale: bars are for the ratio as it is, and a missed bar has its limit, or none is known.
#include "judges/simulated_scale.hpp"

#include <gtest/gtest.h>

namespace {

using namespace measure::simulated_runs;
using measure::figure;

TEST(simulated_scale, the_ratio_is_judged_as_it_is) {
    EXPECT_FALSE(compared("f", true, 1, 1.14996).passed());
    EXPECT_TRUE(compared("f", true, 1, 1.15).passed());
    EXPECT_FALSE(compared("f", false, 1, 0.9999).passed());
    EXPECT_TRUE(compared("f", false, 1, 1).passed());
}

TEST(simulated_scale, a_missed_bar_has_a_limit_or_says_that_none_is_known) {
    figure within = compared("f", true, 10, 11), beyond = within, unknown = within;
    add_limit(within, shortest{"one plate alone", 8}, 11);
    EXPECT_EQ(within.note, "limit: one plate alone: 1.38 times the speed, which allows the bar");
    add_limit(beyond, shortest{"one plate alone", 9.9}, 11);
    EXPECT_EQ(beyond.note, "limit: one plate alone: 1.11 times the speed, so the bar cannot be met here");
    add_limit(unknown, std::nullopt, 11);
    EXPECT_EQ(unknown.note, "no limit is known: noise changes how long each rank computes");
}

TEST(simulated_scale, of_two_limits_the_longer_time_counts) {
    EXPECT_EQ(longer({"wave", 2}, {"work", 1}).what, "wave");
    EXPECT_EQ(longer({"wave", 2}, {"work", 3}).what, "work");
}

TEST(simulated_scale, a_run_that_takes_too_long_says_that_no_limit_is_known) {
    EXPECT_EQ(wall_time(299, "heat").note, "heat");
    EXPECT_EQ(wall_time(301, "heat").note, "heat; no limit is known: the simulator's own time is not measured apart");
}

TEST(simulated_scale, the_longest_computation_is_that_of_the_rank_with_most_or_slowest_work) {
    const bt_mz::Problem &problem = *bt_mz::find_problem("S");
    const auto zones = bt_mz::make_zones(problem);
    const auto equal = [](int) { return 1.0; };
    long cells = 0;
    for (const bt_mz::ZoneShape &zone : zones) {
        cells += zone.cells();
    }
    EXPECT_DOUBLE_EQ(longest_computation(zones, 1, 1e-9, 10, equal), 1e-8 * static_cast<double>(cells));
    const auto owner = bt_mz::distribute(zones, 2);
    double of_rank[2] = {};
    for (const bt_mz::ZoneShape &zone : zones) {
        of_rank[owner[static_cast<std::size_t>(zone.number)]] += 1e-8 * static_cast<double>(zone.cells());
    }
    EXPECT_DOUBLE_EQ(longest_computation(zones, 2, 1e-9, 10, equal), std::max(of_rank[0], of_rank[1]));
    EXPECT_DOUBLE_EQ(longest_computation(zones, 2, 1e-9, 10, [](int rank) { return rank == 1 ? 3.0 : 1.0; }),
                     3 * of_rank[1]);
}

} // namespace
