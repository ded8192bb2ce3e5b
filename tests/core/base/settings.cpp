// SPDX-License-Identifier: BSD-3-Clause
// The environment variables: what is read, what is refused, and that the documentation lists them.
#include "core/base/settings.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>

namespace {

using namespace std::chrono_literals;
using namespace thence::base;

class settings_of_environment : public ::testing::Test {
protected:
    void SetUp() override {
        for (const std::string &name : read_settings().unknown) { // of the process that runs the tests
            unsetenv(name.c_str());
        }
        for (std::size_t i = 0; i < setting_count; ++i) {
            unsetenv(row(static_cast<setting>(i)).name);
        }
    }
};

TEST_F(settings_of_environment, have_the_defaults_of_the_table) {
    const settings &all = read_settings();
    for (std::size_t i = 0; i < setting_count; ++i) {
        const auto which = static_cast<setting>(i);
        EXPECT_EQ(all.state_of(which).in_force, row(which).default_value);
        EXPECT_EQ(all.state_of(which).text, std::nullopt);
        EXPECT_EQ(all.state_of(which).complaint, "");
    }
    EXPECT_EQ(all.engine, "");
    EXPECT_FALSE(all.helper_wanted);
    EXPECT_FALSE(all.report);
    EXPECT_EQ(all.stall, 0ms);
    EXPECT_EQ(all.slow, 0ms);
    EXPECT_EQ(all.trace, "");
    EXPECT_EQ(all.trace_limit, 250000U);
    EXPECT_FALSE(all.check_streams);
    EXPECT_TRUE(all.unknown.empty());
}

TEST_F(settings_of_environment, are_parsed) {
    setenv("THENCE_ENGINE", "testsome", 1);
    setenv("THENCE_PROGRESS", "thread", 1);
    setenv("THENCE_PROGRESS_CPU", "0-2,8", 1);
    setenv("THENCE_REPORT", "run.json", 1);
    setenv("THENCE_STALL", "1.5s", 1);
    setenv("THENCE_SLOW_CONTINUATION", "5ms", 1);
    setenv("THENCE_POOLS_MODE", "new-task", 1);
    setenv("THENCE_TRACE", "run.%r", 1);
    setenv("THENCE_TRACE_LIMIT", "7", 1);
    setenv("THENCE_CHECK_STREAMS", "on", 1);
    const settings &all = read_settings();
    EXPECT_EQ(all.engine, "testsome");
    EXPECT_TRUE(all.helper_wanted);
    EXPECT_FALSE(all.task_wanted);
    EXPECT_EQ(all.progress_cpus, (std::vector<int>{0, 1, 2, 8}));
    EXPECT_TRUE(all.report);
    EXPECT_EQ(all.report_file, "run.json");
    EXPECT_EQ(all.stall, 1500ms);
    EXPECT_EQ(all.state_of(setting::stall).text, "1.5s");
    EXPECT_EQ(all.state_of(setting::stall).in_force, "1500ms");
    EXPECT_EQ(all.slow, 5ms);
    EXPECT_EQ(all.state_of(setting::pools_mode).in_force, "new-task");
    EXPECT_EQ(all.trace, "run.%r");
    EXPECT_EQ(all.trace_limit, 7U);
    EXPECT_TRUE(all.check_streams);
    for (const setting_state &state : all.states) {
        EXPECT_EQ(state.complaint, "");
    }
    setenv("THENCE_PROGRESS", "task", 1);
    EXPECT_TRUE(read_settings().task_wanted);
    EXPECT_FALSE(read_settings().helper_wanted);
    for (const char *without_file : {"on", "1"}) {
        setenv("THENCE_REPORT", without_file, 1);
        EXPECT_TRUE(read_settings().report);
        EXPECT_EQ(read_settings().report_file, "");
    }
}

TEST_F(settings_of_environment, off_and_0_and_nothing_switch_off) {
    for (const char *value : {"off", "0", ""}) {
        for (const char *name : {"THENCE_PROGRESS", "THENCE_REPORT", "THENCE_STALL", "THENCE_SLOW_CONTINUATION",
                                 "THENCE_TRACE", "THENCE_CHECK_STREAMS"}) {
            setenv(name, value, 1);
        }
        const settings &all = read_settings();
        EXPECT_FALSE(all.helper_wanted);
        EXPECT_FALSE(all.report);
        EXPECT_EQ(all.stall + all.slow, 0ms);
        EXPECT_EQ(all.trace, "");
        EXPECT_FALSE(all.check_streams);
        for (const setting which : {setting::progress, setting::report, setting::stall, setting::slow_continuation,
                                    setting::trace, setting::check_streams}) {
            EXPECT_EQ(all.state_of(which).in_force, "off");
            EXPECT_EQ(all.state_of(which).complaint, "");
        }
    }
}

TEST_F(settings_of_environment, a_value_that_cannot_be_parsed_has_a_complaint_and_no_effect) {
    setenv("THENCE_PROGRESS", "Thread", 1);
    setenv("THENCE_STALL", "soon", 1);
    setenv("THENCE_SLOW_CONTINUATION", "0.5ms", 1);
    setenv("THENCE_TRACE_LIMIT", "many", 1);
    setenv("THENCE_CHECK_STREAMS", "yes", 1);
    const settings &all = read_settings();
    EXPECT_FALSE(all.helper_wanted);
    EXPECT_EQ(all.stall + all.slow, 0ms);
    EXPECT_EQ(all.trace_limit, 250000U);
    for (const setting which : {setting::progress, setting::stall, setting::slow_continuation, setting::trace_limit,
                                setting::check_streams}) {
        const std::string start = std::string(row(which).name) + "=" + *all.state_of(which).text + ": ";
        EXPECT_EQ(all.state_of(which).complaint.rfind(start, 0), 0U) << all.state_of(which).complaint;
        EXPECT_EQ(all.state_of(which).in_force, row(which).default_value);
    }
}

TEST_F(settings_of_environment, processors_are_numbers_and_ranges) {
    using thence::base::parse_processors;
    EXPECT_EQ(parse_processors("0"), std::vector<int>{0});
    EXPECT_EQ(parse_processors("1023,3-3"), (std::vector<int>{1023, 3}));
    for (const char *wrong :
         {"", ",", "1,", ",1", "3-1", "1024", "0-1024", "-1", "1-", "a", "1 ", "1--2", "99999999999"}) {
        EXPECT_TRUE(parse_processors(wrong).empty()) << wrong;
    }
    setenv("THENCE_PROGRESS_CPU", "many", 1);
    EXPECT_EQ(read_settings().state_of(setting::progress_cpu).complaint.rfind("THENCE_PROGRESS_CPU=many: ", 0), 0U);
    EXPECT_TRUE(read_settings().progress_cpus.empty());
}

TEST_F(settings_of_environment, names_that_are_no_setting_are_found) {
    setenv("THENCE_PROGRES", "thread", 1);
    EXPECT_EQ(read_settings().unknown, std::vector<std::string>{"THENCE_PROGRES"});
    unsetenv("THENCE_PROGRES");
    EXPECT_TRUE(read_settings().unknown.empty());
}

TEST_F(settings_of_environment, that_was_read_before_gives_the_same_object) {
    const settings *first = &read_settings();
    setenv("THENCE_STALL", "1s", 1);
    EXPECT_EQ(&current_settings(), first) << "it is not read again";
    EXPECT_NE(&read_settings(), first);
    EXPECT_EQ(first->stall, 0ms) << "it stays as it was";
    unsetenv("THENCE_STALL");
    EXPECT_EQ(&read_settings(), first);
}

// A row of the table in settings.md, without the marks of Markdown.
struct documented {
    std::string name, values, default_value;
};

std::vector<documented> table_of(const char *page) {
    std::vector<documented> rows;
    std::ifstream file(page);
    EXPECT_TRUE(file) << page;
    const std::regex cells(R"(\| (THENCE_\w+) \| (.*?) \| (.*?) \| .*)");
    for (std::string line; std::getline(file, line) && line.rfind("## ", 0) != 0;) {
        line = std::regex_replace(line, std::regex("`"), "");
        line = std::regex_replace(line, std::regex(R"(\[([^\]]*)\]\([^)]*\))"), "$1");
        std::smatch found;
        if (std::regex_match(line, found, cells)) {
            rows.push_back({found[1], found[2], found[3]});
        }
    }
    return rows;
}

TEST(settings_page, lists_what_the_library_reads) {
    const std::vector<documented> rows = table_of(THENCE_SETTINGS_PAGE);
    ASSERT_EQ(rows.size(), setting_count);
    for (std::size_t i = 0; i < setting_count; ++i) {
        const setting_row &expected = row(static_cast<setting>(i));
        EXPECT_EQ(rows[i].name, expected.name);
        EXPECT_EQ(rows[i].values, expected.values) << expected.name;
        EXPECT_EQ(rows[i].default_value, expected.default_value) << expected.name;
    }
}

TEST(setting_of_time, duration_is_a_number_with_ms_s_min_or_no_unit) {
    EXPECT_EQ(parse_duration("500ms"), 500ms);
    EXPECT_EQ(parse_duration("10s"), 10s);
    EXPECT_EQ(parse_duration("10"), 10s);
    EXPECT_EQ(parse_duration("1.5min"), 90s);
    EXPECT_EQ(parse_duration("0.01s"), 10ms);
}

TEST(setting_of_time, any_other_text_is_not_a_duration) {
    for (const char *text : {"", "s", "ten", "10h", "10 s", "-1s", "0s", "9ms", "inf", "nan", "1e99s", "10ss", "8e9"}) {
        EXPECT_EQ(parse_duration(text), std::nullopt) << text;
    }
}

TEST(setting_of_time, shortest_duration_is_a_parameter) {
    EXPECT_EQ(parse_duration("1ms", 1), 1ms);
    EXPECT_EQ(parse_duration("0.9ms", 1), std::nullopt);
}

} // namespace
