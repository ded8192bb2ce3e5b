// SPDX-License-Identifier: BSD-3-Clause
// The environment of a program that is run.
#include "measure/process.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

namespace {

std::string seen_with(const std::vector<std::string> &environment) {
    setenv("THENCE_BENCH_SEEN", "outside", 1);
    return measure::run_program({"sh", "-c", "printf %s \"${THENCE_BENCH_SEEN-nothing}\""}, environment,
                                std::chrono::seconds(60))
        .output;
}

TEST(Process, a_program_has_the_variables_of_this_process) {
    EXPECT_EQ(seen_with({}), "outside");
}

TEST(Process, a_name_with_a_value_sets_a_variable) {
    EXPECT_EQ(seen_with({"THENCE_BENCH_SEEN=inside"}), "inside");
    EXPECT_EQ(seen_with({"THENCE_BENCH_SEEN="}), "");
}

TEST(Process, a_name_alone_removes_a_variable) {
    EXPECT_EQ(seen_with({"THENCE_BENCH_SEEN"}), "nothing");
}

} // namespace
