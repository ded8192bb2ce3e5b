// SPDX-License-Identifier: BSD-3-Clause
#include "timeline.hpp"

#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace command {
namespace {

constexpr std::string_view first_line = R"({"displayTimeUnit":"ns",)";
constexpr std::string_view second_line = R"("traceEvents":[)";
constexpr std::string_view event_begin = R"({"ph":")";
constexpr std::string_view end_begin = R"("otherData":{)";
constexpr std::string_view time_member = R"(,"ts":)";

std::optional<std::int64_t> take_number(std::string_view &text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

// Microseconds with three decimals, as nanoseconds. Takes what it reads off `text`.
std::optional<std::int64_t> take_time(std::string_view &text) {
    const std::optional<std::int64_t> whole = take_number(text);
    if (!whole || *whole < 0 || *whole > INT64_MAX / 1000 - 1 || text.size() < 4 || text[0] != '.') {
        return std::nullopt;
    }
    text.remove_prefix(1);
    std::string_view decimals = text.substr(0, 3);
    const std::optional<std::int64_t> part = take_number(decimals);
    if (!part || *part < 0 || !decimals.empty()) {
        return std::nullopt;
    }
    text.remove_prefix(3);
    return *whole * 1000 + *part;
}

std::string as_microseconds(std::int64_t ns) {
    const std::int64_t size = ns < 0 ? -ns : ns;
    char text[40];
    std::snprintf(text, sizeof text, "%s%" PRId64 ".%03d", ns < 0 ? "-" : "", size / 1000,
                  static_cast<int>(size % 1000));
    return text;
}

// What follows `name` in an object of one line. Inside a JSON string a quotation mark has a backslash before it, so the
// name of a member is not found there.
std::optional<std::string_view> value_of(std::string_view line, std::string_view name) {
    const std::string member = '"' + std::string(name) + "\":";
    for (const char before : {'{', ','}) {
        const std::size_t at = line.find(before + member);
        if (at != std::string_view::npos) {
            return line.substr(at + 1 + member.size());
        }
    }
    return std::nullopt;
}

std::optional<std::int64_t> number_of(std::string_view line, std::string_view name) {
    std::optional<std::string_view> value = value_of(line, name);
    return value ? take_number(*value) : std::nullopt;
}

std::optional<std::string> json_string_of(std::string_view line, std::string_view name) {
    const std::optional<std::string_view> value = value_of(line, name);
    if (!value || value->empty() || value->front() != '"') {
        return std::nullopt;
    }
    for (std::size_t i = 1; i < value->size(); ++i) {
        if ((*value)[i] == '\\') {
            ++i;
        } else if ((*value)[i] == '"') {
            return std::string(value->substr(0, i + 1));
        }
    }
    return std::nullopt;
}

} // namespace

timeline_reader::timeline_reader(const std::string &name) : name_(name), in_(name) {
    if (!in_) {
        throw std::runtime_error("cannot read " + name + ": " + std::strerror(errno));
    }
    for (const std::string_view expected : {first_line, second_line}) {
        if (!std::getline(in_, line_) || line_ != expected) {
            throw std::runtime_error(name + " is no timeline of Thence: a file that THENCE_TRACE wrote begins with " +
                                     std::string(first_line));
        }
        ++number_;
    }
    line_ = next_line();
}

void timeline_reader::fail(const std::string &what) const {
    throw std::runtime_error(name_ + ":" + std::to_string(number_) + ": " + what);
}

std::string timeline_reader::next_line() {
    std::string line;
    if (!std::getline(in_, line)) {
        fail("the timeline ends after this line: it is not complete");
    }
    ++number_;
    return line;
}

bool timeline_reader::next_event(std::string &event) {
    if (last_ || line_ == "],") { // a timeline has at least the name of its process, but may have no more
        read_end();
        return false;
    }
    const bool comma = line_.ends_with("},");
    if (!line_.starts_with(event_begin) || (!comma && !line_.ends_with('}'))) {
        fail("this line is not one event of a timeline of Thence");
    }
    event = comma ? line_.substr(0, line_.size() - 1) : line_;
    const std::size_t at = event.find(time_member);
    std::string_view time =
        at == std::string::npos ? std::string_view() : std::string_view(event).substr(at + time_member.size());
    if (!take_time(time)) {
        fail("this event has no time");
    }
    last_ = !comma;
    line_ = next_line();
    return true;
}

void timeline_reader::read_end() {
    if (line_ != "],") {
        fail("the list of events does not end here as it should");
    }
    line_ = next_line();
    const auto rank = number_of(line_, "rank");
    const auto host = json_string_of(line_, "host");
    const auto continuations = number_of(line_, "continuations");
    const auto dropped = number_of(line_, "dropped");
    auto wall_clock = value_of(line_, "wall_clock_minus_ts_us");
    const auto offset = wall_clock ? take_time(*wall_clock) : std::nullopt;
    if (line_.starts_with(end_begin) && value_of(line_, "ranks")) {
        fail("this timeline is joined already; join the files of the ranks");
    }
    if (!line_.starts_with(end_begin) || !line_.ends_with("}}") || !rank || !host || !continuations || !dropped ||
        !offset) {
        fail("this line does not say what the end of a timeline of Thence says");
    }
    end_ = {*rank, *host, *offset, *continuations, *dropped};
}

std::string moved(const std::string &event, std::int64_t ns) {
    if (ns == 0 || event.starts_with(R"({"ph":"M")")) {
        return event;
    }
    const std::size_t begin = event.find(time_member) + time_member.size();
    std::string_view rest = std::string_view(event).substr(begin);
    const std::optional<std::int64_t> time = take_time(rest);
    return event.substr(0, begin) + as_microseconds(time.value() + ns) + std::string(rest);
}

} // namespace command
