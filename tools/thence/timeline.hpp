// SPDX-License-Identifier: BSD-3-Clause
// Reads the timelines that the library writes with THENCE_TRACE, one per rank: one event per line, then a line about
// the rank. It reads what the library writes, and nothing else of Chrome's trace format.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>
#include <string>

namespace command {

using trace_event = nlohmann::ordered_json;

struct timeline_end {
    std::uint64_t rank = 0;
    std::string host;
    std::int64_t wall_clock_minus_ts = 0; // ns
    std::uint64_t continuations = 0;
    std::uint64_t dropped = 0;
};

// Every function throws std::runtime_error, naming file and line, where the file is not such a timeline.
class timeline_reader {
public:
    explicit timeline_reader(const std::string &name);
    // False after the last one; end() tells the rest then.
    bool next_event(trace_event &event);
    const timeline_end &end() const noexcept { return end_; }

private:
    [[noreturn]] void fail(const std::string &what) const;
    std::string next_line();
    void read_end();

    std::string name_;
    std::ifstream in_;
    std::string line_;
    std::int64_t number_ = 0;
    bool last_ = false; // the last event was read
    timeline_end end_;
};

// Moves the time of the event by `ns`. Events that only name something have no time and stay as they are.
void move(trace_event &event, std::int64_t ns);

} // namespace command
