// SPDX-License-Identifier: BSD-3-Clause
// Which contender is the best, and that runs which did other work are not compared.
#include "measure/contest.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>

namespace {

using measure::contender;
using measure::contest;
using measure::numbers;

// Takes these times in its runs, one after the other, and reports these numbers besides.
contender taking(const std::string &name, const std::vector<double> &seconds, const numbers &more = {}) {
    auto next = std::make_shared<std::size_t>(0);
    return {name, [=] {
                numbers found = more;
                found["seconds"] = seconds.at((*next)++);
                return found;
            }};
}

std::string error_of(const std::vector<contender> &all) {
    try {
        const contest runs(all, 1);
    } catch (const std::runtime_error &error) {
        return error.what();
    }
    return "no error";
}

TEST(Contest, the_best_has_the_shortest_median_and_not_the_shortest_run) {
    const contest runs({taking("baseline", {6, 6, 6}), taking("lucky once", {1, 4, 4}), taking("steady", {3, 3, 3})},
                       3);
    EXPECT_EQ(runs.best(0, 3), 2U);
    EXPECT_EQ(runs.best(0, 2), 1U);
    EXPECT_DOUBLE_EQ(runs.speed(2, 0).value, 2);
    EXPECT_EQ(runs.compared(2, 0).name, "steady");
    EXPECT_EQ(runs.compared(2, 0).against, "baseline");
}

TEST(Contest, speed_is_the_median_of_the_pairs_of_a_round) {
    const contest runs({taking("baseline", {10, 2, 30}), taking("ours", {5, 2, 10})}, 3);
    EXPECT_DOUBLE_EQ(runs.speed(1, 0).value, 2);
    EXPECT_DOUBLE_EQ(runs.speed(1, 0).low, 1);
    EXPECT_DOUBLE_EQ(runs.speed(1, 0).high, 3);
}

TEST(Contest, runs_with_other_values_are_not_compared) {
    const std::string error = error_of({taking("a", {1}, {{"checksum", 7}}), taking("b", {1}, {{"checksum", 8}})});
    EXPECT_EQ(error, "not comparable: b reports checksum 8, a 7");
}

TEST(Contest, runs_with_other_work_are_not_compared) {
    const std::string error = error_of({taking("a", {1}, {{"checksum", 7}, {"dearer_cells", 100}}),
                                        taking("b", {1}, {{"checksum", 7}, {"dearer_cells", 200}})});
    EXPECT_EQ(error, "not comparable: b reports dearer_cells 200, a 100");
}

TEST(Contest, a_limit_reports_no_values) {
    EXPECT_EQ(error_of({taking("a", {1}, {{"checksum", 7}}), taking("limit", {1})}), "no error");
}

TEST(Contest, a_run_without_a_time_is_an_error) {
    EXPECT_EQ(error_of({taking("a", {1}), {"b", [] { return numbers{{"checksum", 7}}; }}}), "b reports no seconds");
}

TEST(Contest, computation_is_that_of_the_contender_that_computes_least_in_a_round) {
    const auto run = [](const std::vector<double> &seconds, const std::vector<double> &computation) {
        auto next = std::make_shared<std::size_t>(0);
        return [=] {
            const std::size_t i = (*next)++;
            return numbers{{"seconds", seconds.at(i)}, {"compute_seconds", computation.at(i)}};
        };
    };
    const contest runs({{"baseline", run({10, 20, 30}, {5, 8, 9})}, {"ours", run({9, 18, 27}, {4, 10, 10})}}, 3);
    EXPECT_DOUBLE_EQ(runs.speed_of_computation(0).low, 2.5);
    EXPECT_DOUBLE_EQ(runs.speed_of_computation(0).value, 2.5);
    EXPECT_DOUBLE_EQ(runs.speed_of_computation(0).high, 30.0 / 9);
}

TEST(Contest, launches_give_the_times_of_contenders_that_share_a_process) {
    const contest runs = contest::of_launches(
        {"baseline", "ours"}, {{{"seconds_0", 4}, {"seconds_1", 2}}, {{"seconds_0", 6}, {"seconds_1", 2}}});
    EXPECT_DOUBLE_EQ(runs.seconds(0), 5);
    EXPECT_DOUBLE_EQ(runs.speed(1, 0).value, 2.5);
    EXPECT_EQ(runs.best(0, 2), 1U);
}

} // namespace
