// SPDX-License-Identifier: BSD-3-Clause
#include "core/diagnose/trace.hpp"

#include <gtest/gtest.h>

namespace {

using thence::diagnose::trace_file_name;

TEST(trace_file_names, have_the_rank_at_its_placeholder_or_at_the_end) {
    EXPECT_EQ(trace_file_name("run", 3), "run.3.json");
    EXPECT_EQ(trace_file_name("run.%r.json", 12), "run.12.json");
    EXPECT_EQ(trace_file_name("{rank}/t{rank}", 7), "7/t7");
    EXPECT_EQ(trace_file_name("a%r-{rank}", 0), "a0-0");
}

} // namespace
