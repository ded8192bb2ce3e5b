// SPDX-License-Identifier: BSD-3-Clause
#include "diagnose/settings.hpp"

#include "diagnose/process_identity.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace thence::diagnose {

namespace {

using std::chrono::milliseconds;

constexpr double longest_ms = 7 * 24 * 3600 * 1000.0;
constexpr std::size_t default_trace_limit = 250000;

// Null when the variable is unset, empty, `0` or `off`.
const char *value_of(const char *name) noexcept {
    const char *value = std::getenv(name);
    const bool off =
        value == nullptr || *value == '\0' || std::strcmp(value, "off") == 0 || std::strcmp(value, "0") == 0;
    return off ? nullptr : value;
}

// `consequence`: the sentence that tells the user what happens when the value cannot be parsed.
milliseconds read_duration(const char *name, int shortest_ms, const char *example, const char *consequence) {
    const char *value = value_of(name);
    if (value == nullptr) {
        return milliseconds{0};
    }
    const auto duration = parse_duration(value, shortest_ms);
    if (!duration) {
        print_to_stderr(std::string(name) + "=" + value + ": not a duration between " + std::to_string(shortest_ms) +
                        "ms and one week. Write a number with ms, s or min, as in " + name + "=" + example + ". " +
                        consequence + "\n");
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
        print_to_stderr(std::string("THENCE_TRACE_LIMIT=") + value + ": not a positive number. The limit stays at " +
                        std::to_string(default_trace_limit) + " continuations.\n");
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
    if (!(number >= shortest_ms && number <= longest_ms)) { // false for NaN, too
        return std::nullopt;
    }
    return milliseconds{static_cast<milliseconds::rep>(number)};
}

std::string trace_file_name(std::string_view pattern, int rank) {
    const std::string number = std::to_string(rank);
    std::string name(pattern);
    bool replaced = false;
    for (const std::string_view placeholder : {std::string_view("%r"), std::string_view("{rank}")}) {
        for (std::size_t at = name.find(placeholder); at != std::string::npos;
             at = name.find(placeholder, at + number.size())) {
            name.replace(at, placeholder.size(), number);
            replaced = true;
        }
    }
    return replaced ? name : name + "." + number + ".json";
}

settings read_settings(int rank) {
    settings result;
    result.stall = read_duration("THENCE_STALL", 10, "10s", "Stalls will not be reported.");
    result.slow = read_duration("THENCE_SLOW_CONTINUATION", 1, "5ms", "Slow continuations will not be reported.");
    if (const char *pattern = value_of("THENCE_TRACE")) {
        result.trace = trace_file_name(pattern, rank);
        result.trace_limit = read_trace_limit();
    }
    return result;
}

} // namespace thence::diagnose
