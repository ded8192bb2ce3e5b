// SPDX-License-Identifier: BSD-3-Clause
// What the environment asks for: THENCE_STALL, THENCE_TRACE, THENCE_TRACE_LIMIT. A bad value is reported once, names
// what would be good, and switches off only what it was for.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace thence::diagnose {

struct settings {
    std::chrono::milliseconds stall{0}; // zero: off
    std::chrono::milliseconds slow{0};  // a callback that runs for longer is told of; zero: off
    std::string trace;                  // the file of this rank; empty: off
    std::size_t trace_limit = 0;        // most continuations in it
};

// Reads the environment. Complaints go to standard error.
settings read_settings(int rank);

// "10s", "500ms", "1.5min"; a number alone means seconds.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text, double shortest_ms = 10);

// The name of this rank's file: `%r` and `{rank}` stand for the rank; without either, `.RANK.json` is appended.
std::string trace_file_name(std::string_view pattern, int rank);

} // namespace thence::diagnose
