// SPDX-License-Identifier: BSD-3-Clause
// Reads THENCE_STALL, THENCE_SLOW_CONTINUATION, THENCE_TRACE and THENCE_TRACE_LIMIT from the environment. A bad value
// is reported once on standard error, with an example of a good one. It switches off only the function it was meant
// for.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace thence::diagnose {

struct settings {
    std::chrono::milliseconds stall{0}; // report a stall after this time without a completion; zero: off
    std::chrono::milliseconds slow{0};  // report callbacks that run for longer; zero: off
    std::string trace;                  // name of this rank's trace file; empty: off
    std::size_t trace_limit = 0;        // at most so many continuations are recorded
};

// Reads the environment. Writes errors to standard error.
settings read_settings(int rank);

// Parses "10s", "500ms" or "1.5min"; a number alone means seconds. Empty if the text is no duration, or one that is
// shorter than `shortest_ms` or longer than a week.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text, double shortest_ms = 10);

// The name of this rank's trace file: `%r` and `{rank}` are replaced by the rank. Without either, `.RANK.json` is
// appended.
std::string trace_file_name(std::string_view pattern, int rank);

} // namespace thence::diagnose
