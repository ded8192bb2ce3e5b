// SPDX-License-Identifier: BSD-3-Clause
// Benchmarks of several launches: the ratio and both sides of a figure are medians over all launches, and each figure
// has its bar and its limit.
#include "judges/am_latency.hpp"
#include "judges/am_rate.hpp"
#include "judges/offload.hpp"
#include "judges/qr.hpp"

#include <gtest/gtest.h>

namespace {

using measure::bar_kind;
using measure::contender;
using measure::contest;
using measure::figure;
using measure::numbers;

// A launch in which contender c takes the c-th of these times.
numbers launch(const std::vector<double> &seconds, const numbers &more = {}) {
    numbers found = more;
    for (std::size_t c = 0; c < seconds.size(); ++c) {
        found["seconds_" + std::to_string(c)] = seconds[c];
    }
    return found;
}

void expect(const figure &found, const std::string &name, double ratio, double ours, double baseline, double limit) {
    EXPECT_EQ(found.name, name);
    EXPECT_DOUBLE_EQ(found.found.value, ratio) << name;
    EXPECT_DOUBLE_EQ(*found.ours, ours) << name;
    EXPECT_DOUBLE_EQ(*found.baseline, baseline) << name;
    EXPECT_DOUBLE_EQ(*found.limit, limit) << name;
}

TEST(qr, ratios_and_times_are_medians_of_the_launches) {
    // The last launch is neither the median nor the fastest one.
    const std::vector<numbers> launches{launch({1, 2, 9, 1.5, 9}, {{"compute_seconds", 0.5}}),
                                        launch({2, 6, 9, 3, 9}, {{"compute_seconds", 1}}),
                                        launch({8, 8, 9, 8, 9}, {{"compute_seconds", 4}})};
    const std::vector<figure> found = figures_of(launches, measure::qr_runs::situation{"here", 1.05});
    ASSERT_EQ(found.size(), 2U);
    expect(found[0], "here, compared with the reference engine, best window", 1.5, 2000, 3000, 3);
    expect(found[1], "here, compared with fork-join", 2, 2000, 6000, 4);
}

TEST(qr, the_bar_is_that_of_the_situation_against_both_baselines) {
    const std::vector<numbers> launches{launch({1, 1.07, 1.07, 2, 2}, {{"compute_seconds", 0.5}})};
    for (const double bar : {1.05, 1.1}) {
        const std::vector<figure> found = figures_of(launches, measure::qr_runs::situation{"here", bar});
        ASSERT_EQ(found.size(), 2U);
        for (const figure &each : found) {
            EXPECT_EQ(each.kind, bar_kind::at_least);
            EXPECT_EQ(each.bar, bar);
            EXPECT_EQ(each.passed(), bar < 1.07) << each.name;
        }
    }
}

TEST(qr, without_messages_only_fork_join_is_compared) {
    const std::vector<numbers> launches{launch({1, 2, 3, 3, 3}, {{"compute_seconds", 0.5}})};
    const auto found = figures_of(launches, measure::qr_runs::situation{"here", 1.05, false});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].against, "fork-join");
}

TEST(am_rate, ratios_and_rates_are_medians_of_the_launches) {
    const numbers total{{"total", 1000}};
    const std::vector<numbers> launches{launch({1, 2, 0.5, 4, 3}, total), launch({2, 6, 1, 7, 5}, total),
                                        launch({4, 8, 2, 9, 8}, total)};
    for (const long in_flight : {1L, 1000L}) {
        const std::vector<figure> found = measure::am_rate_runs::figures_of(launches, 2, in_flight);
        ASSERT_EQ(found.size(), 2U);
        const std::string where = std::to_string(in_flight) + " in flight, compared with ";
        expect(found[0], where + "the reference engine, best window", 2.5, 500, 200, 5);
        expect(found[1], where + "MPI_Isend and persistent receives by hand", 2, 500, 1000. / 6, 4);
        EXPECT_EQ(found[0].bar, in_flight == 1 ? 0.95 : 2);
    }
}

TEST(am_latency, ratio_and_times_are_medians_of_the_launches) {
    const std::vector<numbers> launches{launch({3, 2, 2}), launch({5, 4, 4.4}), launch({18, 12, 24})};
    expect(measure::am_latency_runs::figure_of(launches, 500, "handlers"), "handlers", 1.5, 5000, 4000, 1.1);
}

// The times that a contender takes, and how long it computes.
contender taking(const std::string &name, double seconds, double computed) {
    return {name, [=] { return numbers{{"seconds", seconds}, {"compute_seconds", computed}}; }};
}

TEST(offload, each_figure_has_a_bar_and_a_limit) {
    const contest runs(
        {taking("none", 10, 6), taking("continuations", 8, 7), taking("all", 9, 7), taking("four", 8.5, 7)}, 3);
    const std::vector<figure> found = measure::offload_runs::figures_of(runs, 4, "slow");
    ASSERT_EQ(found.size(), 2U);
    expect(found[0], "slow, against tasks that stay", 0.8, 8000, 10000, 0.6);
    expect(found[1], "slow, against polling", 8 / 8.5, 8000, 8500, 6 / 8.5);
    EXPECT_EQ(found[1].against, "four");
    EXPECT_FALSE(found[0].passed());
    EXPECT_TRUE(found[1].passed());
    for (const figure &each : found) {
        EXPECT_EQ(each.kind, bar_kind::at_most);
    }
    EXPECT_EQ(found[0].bar, 0.75);
    EXPECT_EQ(found[1].bar, 0.95);
}

} // namespace
