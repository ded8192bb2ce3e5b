// SPDX-License-Identifier: BSD-3-Clause
#include "timeline.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace command {
namespace {

constexpr std::string_view first_line = R"({"displayTimeUnit":"ns",)";
constexpr std::string_view second_line = R"("traceEvents":[)";
constexpr long double largest_time = 9e15L; // in microseconds; its nanoseconds fit into 64 bits

// The time of the wall clock in microseconds has more digits than a double.
using exact_json =
    nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t, std::uint64_t, long double>;

// Null, or what `name` is, if it is of type T.
template <class T, class Json> const T *member(const Json &of, const char *name) {
    const auto found = of.find(name);
    return found != of.end() ? found->template get_ptr<const T *>() : nullptr;
}

// From microseconds. The timeline has nanoseconds as three decimals.
template <class Float> bool is_time(const Float *us) {
    return us != nullptr && *us >= 0 && *us <= static_cast<Float>(largest_time);
}
template <class Float> std::int64_t nanoseconds(Float us) {
    return std::llround(us * 1000);
}

// The names of files may have bytes that are no UTF-8, which JSON does not allow.
std::string replace_what_is_no_utf8(const std::string &line) {
    return trace_event::parse(trace_event(line).dump(-1, ' ', false, trace_event::error_handler_t::replace))
        .get<std::string>();
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

bool timeline_reader::next_event(trace_event &event) {
    if (last_ || line_ == "],") { // a timeline has at least the name of its process, but may have no more
        read_end();
        return false;
    }
    last_ = !line_.ends_with("},");
    if (!last_) {
        line_.pop_back();
    }
    event = trace_event::parse(line_, nullptr, false);
    if (event.is_discarded()) {
        event = trace_event::parse(replace_what_is_no_utf8(line_), nullptr, false);
    }
    if (!event.is_object() || !event.contains("ph")) {
        fail("this line is not one event of a timeline of Thence");
    }
    if (!is_time(member<double>(event, "ts"))) {
        fail("this event has no time");
    }
    line_ = next_line();
    return true;
}

void timeline_reader::read_end() {
    if (line_ != "],") {
        fail("the list of events does not end here as it should");
    }
    line_ = next_line();
    const exact_json rest = exact_json::parse('{' + line_, nullptr, false);
    const exact_json about = rest.is_object() ? rest.value("otherData", exact_json()) : exact_json();
    if (about.contains("ranks")) {
        fail("this timeline is joined already; join the files of the ranks");
    }
    const auto *const rank = member<std::uint64_t>(about, "rank");
    const auto *const host = member<std::string>(about, "host");
    const auto *const continuations = member<std::uint64_t>(about, "continuations");
    const auto *const dropped = member<std::uint64_t>(about, "dropped");
    const auto *const offset = member<long double>(about, "wall_clock_minus_ts_us");
    if (rank == nullptr || host == nullptr || continuations == nullptr || dropped == nullptr || !is_time(offset)) {
        fail("this line does not say what the end of a timeline of Thence says");
    }
    end_ = {*rank, *host, nanoseconds(*offset), *continuations, *dropped};
}

void move(trace_event &event, std::int64_t ns) {
    if (event["ph"] != "M") {
        double &us = event["ts"].get_ref<double &>();
        us = static_cast<double>((static_cast<long double>(nanoseconds(us)) + static_cast<long double>(ns)) / 1000);
    }
}

} // namespace command
