// SPDX-License-Identifier: BSD-3-Clause
// Parsing of the settings. Needs no MPI.
#include "diagnose/settings.hpp"

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using thence::diagnose::parse_duration;
using thence::diagnose::trace_file_name;

TEST(diagnose_settings, duration_is_a_number_with_ms_s_min_or_no_unit) {
    EXPECT_EQ(parse_duration("500ms"), 500ms);
    EXPECT_EQ(parse_duration("10s"), 10s);
    EXPECT_EQ(parse_duration("10"), 10s);
    EXPECT_EQ(parse_duration("1.5min"), 90s);
    EXPECT_EQ(parse_duration("0.01s"), 10ms);
}

TEST(diagnose_settings, any_other_text_is_not_a_duration) {
    for (const char *text : {"", "s", "ten", "10h", "10 s", "-1s", "0s", "9ms", "inf", "nan", "1e99s", "10ss", "8e9"}) {
        EXPECT_EQ(parse_duration(text), std::nullopt) << text;
    }
}

TEST(diagnose_settings, shortest_duration_is_a_parameter) {
    EXPECT_EQ(parse_duration("1ms", 1), 1ms);
    EXPECT_EQ(parse_duration("0.9ms", 1), std::nullopt);
}

TEST(diagnose_settings, trace_file_name_has_the_rank_at_its_placeholder_or_at_the_end) {
    EXPECT_EQ(trace_file_name("run", 3), "run.3.json");
    EXPECT_EQ(trace_file_name("run.%r.json", 12), "run.12.json");
    EXPECT_EQ(trace_file_name("{rank}/t{rank}", 7), "7/t7");
    EXPECT_EQ(trace_file_name("a%r-{rank}", 0), "a0-0");
}

} // namespace
