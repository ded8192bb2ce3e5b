// SPDX-License-Identifier: BSD-3-Clause
// The report of `thence bench` about a figure.
#include "command/print.hpp"
#include "measure/figure.hpp"

#include <gtest/gtest.h>
#include <string>

namespace {

std::string printed(measure::sample found, measure::bar_kind kind) {
    testing::internal::CaptureStdout();
    command::print({.name = "b",
                    .about = "a benchmark",
                    .figures = {{.name = "f", .found = found, .unit = "times", .kind = kind, .bar = 1.5}},
                    .skipped = "",
                    .failed = ""});
    return testing::internal::GetCapturedStdout();
}

bool has(const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
}

constexpr char doubt[] = "measure again on an idle machine";

TEST(print, a_bar_that_is_met) {
    const std::string text = printed({1.6, 1.55, 1.9}, measure::bar_kind::at_least);
    EXPECT_TRUE(has(text, "1.6 times   pass  bar: at least 1.5")) << text;
    EXPECT_TRUE(has(text, "repeats between 1.55 and 1.9\n")) << text;
}

TEST(print, a_bar_between_the_repetitions) {
    const std::string text = printed({1.3, 0.66, 2.29}, measure::bar_kind::at_least);
    EXPECT_TRUE(has(text, "1.3 times   FAIL  bar: at least 1.5")) << text;
    EXPECT_TRUE(has(text, doubt)) << text;
    EXPECT_TRUE(has(printed({1.6, 1.4, 1.7}, measure::bar_kind::at_least), doubt)) << "whether it is met or not";
    EXPECT_TRUE(has(printed({1.6, 1.4, 1.7}, measure::bar_kind::at_most), doubt));
}

TEST(print, a_value_just_below_the_bar_does_not_look_like_the_bar) {
    const std::string text = printed({1.4999, 1.4, 1.6}, measure::bar_kind::at_least);
    EXPECT_TRUE(has(text, "1.4999 times   FAIL  bar: at least 1.5")) << text;
    EXPECT_TRUE(has(printed({1.5, 1.5, 1.5}, measure::bar_kind::at_least), "1.5 times   pass  bar: at least 1.5"));
}

TEST(print, a_bar_that_no_repetition_meets) {
    const std::string text = printed({1.3, 1.2, 1.4}, measure::bar_kind::at_least);
    EXPECT_TRUE(has(text, "FAIL")) << text;
    EXPECT_FALSE(has(text, doubt)) << text;
    EXPECT_FALSE(has(printed({1.7, 1.6, 1.8}, measure::bar_kind::at_most), doubt));
}

TEST(print, a_figure_without_a_bar) {
    const std::string text = printed({1.3, 1.2, 1.6}, measure::bar_kind::none);
    EXPECT_FALSE(has(text, "bar")) << text;
    EXPECT_FALSE(has(text, doubt)) << text;
}

} // namespace
