// SPDX-License-Identifier: BSD-3-Clause
#include "diagnose/settings.hpp"

#include "diagnose/self.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace thence::diagnose {

namespace {

using std::chrono::milliseconds;

constexpr double longest_ms = 7 * 24 * 3600 * 1000.0;
constexpr std::size_t default_trace_limit = 250000;

// Null when the variable is unset, empty, `0` or `off`.
const char *wanted(const char *name) noexcept {
    const char *value = std::getenv(name);
    const bool off =
        value == nullptr || *value == '\0' || std::strcmp(value, "off") == 0 || std::strcmp(value, "0") == 0;
    return off ? nullptr : value;
}

// `consequence`: what a value that makes no sense means.
milliseconds read_duration(const char *name, int shortest_ms, const char *example, const char *consequence) {
    const char *value = wanted(name);
    if (value == nullptr) {
        return milliseconds{0};
    }
    const auto duration = parse_duration(value, shortest_ms);
    if (!duration) {
        say(std::string(name) + "=" + value + ": no duration from " + std::to_string(shortest_ms) +
            "ms to one week. Write a number with ms, s or min, as in " + name + "=" + example + ". " + consequence +
            "\n");
        return milliseconds{0};
    }
    return *duration;
}

std::size_t read_trace_limit() {
    const char *value = std::getenv("THENCE_TRACE_LIMIT");
    if (value == nullptr || *value == '\0') {
        return default_trace_limit;
    }
    std::size_t limit = 0;
    const char *end = value + std::strlen(value);
    const auto [stop, fault] = std::from_chars(value, end, limit);
    if (fault != std::errc{} || stop != end || limit == 0) {
        say(std::string("THENCE_TRACE_LIMIT=") + value + ": no positive number of continuations. The limit stays at " +
            std::to_string(default_trace_limit) + ".\n");
        return default_trace_limit;
    }
    return limit;
}

} // namespace

std::optional<milliseconds> parse_duration(std::string_view text, double shortest_ms) {
    double number = 0;
    const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc{}) {
        return std::nullopt;
    }
    const std::string_view unit = text.substr(static_cast<std::size_t>(stop - text.data()));
    if (unit == "s" || unit.empty()) {
        number *= 1000;
    } else if (unit == "min") {
        number *= 60000;
    } else if (unit != "ms") {
        return std::nullopt;
    }
    if (!(number >= shortest_ms && number <= longest_ms)) { // not a number fails too
        return std::nullopt;
    }
    return milliseconds{static_cast<milliseconds::rep>(number)};
}

std::string trace_file_name(std::string_view pattern, int rank) {
    const std::string number = std::to_string(rank);
    std::string name(pattern);
    bool placed = false;
    for (const std::string_view mark : {std::string_view("%r"), std::string_view("{rank}")}) {
        for (std::size_t at = name.find(mark); at != std::string::npos; at = name.find(mark, at + number.size())) {
            name.replace(at, mark.size(), number);
            placed = true;
        }
    }
    return placed ? name : name + "." + number + ".json";
}

settings read_settings(int rank) {
    settings result;
    result.stall = read_duration("THENCE_STALL", 10, "10s", "There will be no stall report.");
    result.slow = read_duration("THENCE_SLOW_CONTINUATION", 1, "5ms", "Slow continuations will not be told of.");
    if (const char *pattern = wanted("THENCE_TRACE")) {
        result.trace = trace_file_name(pattern, rank);
        result.trace_limit = read_trace_limit();
    }
    return result;
}

} // namespace thence::diagnose
