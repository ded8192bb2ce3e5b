// SPDX-License-Identifier: BSD-3-Clause
// The environment variables of Thence: each is described and read here, and nowhere else.
//
// They are read when the library is set up. A value that cannot be parsed has no effect but a complaint, which is
// printed then. `thence info` prints all of this.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thence::base {

// The rows below are in this order, which is that of docs/guide/settings.md, which has the same texts
// (tests/core/base/settings.cpp compares them).
enum class setting {
    engine,
    progress,
    progress_cpu,
    wait,
    report,
    stall,
    slow_continuation,
    pools_mode,
    trace,
    trace_limit,
    check_streams,
    onesided,
    count_
};
inline constexpr std::size_t setting_count = static_cast<std::size_t>(setting::count_);

// How blocking calls of MPI wait (THENCE_WAIT).
enum class waiting { in_mpi, yield, sleep };

struct setting_row {
    const char *name;
    const char *values;
    const char *default_value;
    const char *meaning;
};
inline constexpr std::array<setting_row, setting_count> setting_rows = {{
    {"THENCE_ENGINE", "openmpi, mpich, testsome", "the native engine if it works with this MPI, else testsome",
     "which engine finds completed operations"},
    {"THENCE_PROGRESS", "thread, task, always, off", "off",
     "whether the library's own thread makes progress and runs callbacks, too, or a task does for TAMPI, or the thread "
     "always makes progress for the program"},
    {"THENCE_PROGRESS_CPU", "processors, as in 3 or 0-3,8", "off",
     "on which processors the library's own thread may run"},
    {"THENCE_WAIT", "spin, yield, sleep", "spin", "how blocking calls of MPI wait"},
    {"THENCE_REPORT", "on, or the name of a file", "off",
     "at MPI_Finalize, say what nonblocking operations were waited for"},
    {"THENCE_STALL", "a duration: 10s, 500ms, 1.5min; a plain number means seconds", "off",
     "report what is outstanding if no continuation has run, or no call of a plain program returned, for that long"},
    {"THENCE_SLOW_CONTINUATION", "a duration of at least 1ms", "off", "report callbacks that ran for longer"},
    {"THENCE_POOLS_MODE", "METHOD[,FLAG...], see Pools", "continuation,inline-request",
     "how thence::pools handle operations; libthence-pools reads it"},
    {"THENCE_TRACE", "a file name; %r or {rank} in it is replaced by the rank, else .RANK.json is appended", "off",
     "write a timeline of all continuations"},
    {"THENCE_TRACE_LIMIT", "a positive number", "250000", "the largest number of continuations in a timeline"},
    {"THENCE_CHECK_STREAMS", "on, off", "off",
     "report two threads that are in MPI calls of one stream at the same time"},
    {"THENCE_ONESIDED", "shm, messages", "shm",
     "how processes of one node reach segments of each other: shared memory where possible, or messages"},
}};
constexpr const setting_row &row(setting which) noexcept {
    return setting_rows[static_cast<std::size_t>(which)];
}

struct setting_state {
    std::optional<std::string> text; // in the environment
    std::string in_force;            // the value, as a user would write it
    std::string complaint;           // why `text` cannot be used; empty if it can
    bool operator==(const setting_state &) const = default;
};

struct settings {
    std::array<setting_state, setting_count> states;
    std::vector<std::string> unknown; // names in the environment that begin with THENCE_ and are no setting

    std::string engine;             // empty: none is named
    bool helper_wanted = false;     // THENCE_PROGRESS=thread
    bool task_wanted = false;       // THENCE_PROGRESS=task
    bool progress_always = false;   // THENCE_PROGRESS=always
    std::vector<int> progress_cpus; // the helper thread runs on these; empty: wherever the program may
    waiting wait = waiting::in_mpi;
    bool report = false;                // measure the calls of the program, and report at MPI_Finalize
    std::string report_file;            // as JSON, too; empty: none
    std::chrono::milliseconds stall{0}; // report a stall after this time without a completion; zero: off
    std::chrono::milliseconds slow{0};  // report callbacks that run for longer; zero: off
    std::string trace;                  // the name of the timeline, without the rank; empty: off
    std::size_t trace_limit = 0;        // at most so many continuations, and calls, are recorded
    bool check_streams = false;         // report two threads in calls of one stream
    bool onesided_messages = false;     // THENCE_ONESIDED=messages

    const setting_state &state_of(setting which) const { return states[static_cast<std::size_t>(which)]; }
    bool operator==(const settings &) const = default;
};

// Reads the environment. What is returned stays valid until the process ends.
const settings &read_settings();
// What read_settings() returned last. Calls it if nobody has.
const settings &current_settings();

// Parses "10s", "500ms" or "1.5min"; a number alone means seconds. Empty if the text is no duration, or one that is
// shorter than `shortest_ms` or longer than a week.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text, double shortest_ms = 10);

// Parses "3" or "0-3,8": numbers of processors from 0 to 1023 and ranges of them. Empty if the text is none.
std::vector<int> parse_processors(std::string_view text);

} // namespace thence::base
