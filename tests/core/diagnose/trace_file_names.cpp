// SPDX-License-Identifier: BSD-3-Clause
#include "core/diagnose/process_identity.hpp"
#include "core/diagnose/trace.hpp"

#include <gtest/gtest.h>

namespace {

using thence::diagnose::spawned_file_name;
using thence::diagnose::trace_file_name;

TEST(trace_file_names, have_the_rank_at_its_placeholder_or_at_the_end) {
    EXPECT_EQ(trace_file_name("run", 3), "run.3.json");
    EXPECT_EQ(trace_file_name("run.%r.json", 12), "run.12.json");
    EXPECT_EQ(trace_file_name("{rank}/t{rank}", 7), "7/t7");
    EXPECT_EQ(trace_file_name("a%r-{rank}", 0), "a0-0");
}

TEST(trace_file_names, of_spawned_processes_have_the_process_before_the_extension) {
    EXPECT_EQ(spawned_file_name("run.0.json", 47), "run.0.spawned-47.json");
    EXPECT_EQ(spawned_file_name("a.b/run", 47), "a.b/run.spawned-47");
    EXPECT_EQ(spawned_file_name("a/.run", 47), "a/.run.spawned-47");
    EXPECT_EQ(spawned_file_name("/dev/null", 47), "/dev/null") << "it is no regular file";
}

} // namespace
