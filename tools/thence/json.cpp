// SPDX-License-Identifier: BSD-3-Clause
#include "json.hpp"

#include <cstdio>

namespace command {
namespace {

// Bytes of the UTF-8 sequence at the start of `text`; 0 if there is no valid one.
std::size_t sequence_length(std::string_view text) {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length > text.size()) {
        return 0;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80) {
            return 0;
        }
    }
    // Overlong forms, surrogates, and what lies above U+10FFFF differ in their second byte.
    const bool valid = length < 3 || !((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) >= 0xA0) ||
                                       (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) >= 0x90));
    return valid ? length : 0;
}

} // namespace

std::string json_string(std::string_view text) {
    std::string result = "\"";
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        const auto first = static_cast<unsigned char>(text.front());
        if (length == 0) {
            result += "\xEF\xBF\xBD";
        } else if (first == '"' || first == '\\') {
            result += {'\\', text.front()};
        } else if (first < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(first));
            result += escape;
        } else {
            result += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return result + '"';
}

void json_writer::begin_member(std::string_view name) {
    out_ << (first_ ? "" : ",");
    first_ = false;
    if (depth_ > 0) {
        out_ << '\n' << std::string(static_cast<std::size_t>(2 * depth_), ' ') << json_string(name) << ": ";
    }
}

void json_writer::open(std::string_view name) {
    begin_member(name);
    out_ << '{';
    ++depth_;
    first_ = true;
}

void json_writer::close() {
    --depth_;
    if (!first_) {
        out_ << '\n' << std::string(static_cast<std::size_t>(2 * depth_), ' ');
    }
    out_ << '}';
    first_ = false;
    if (depth_ == 0) {
        out_ << '\n';
    }
}

void json_writer::member(std::string_view name, std::string_view value) {
    begin_member(name);
    out_ << json_string(value);
}

void json_writer::member(std::string_view name, const char *value) {
    begin_member(name);
    out_ << (value == nullptr ? "null" : json_string(value));
}

void json_writer::member(std::string_view name, bool value) {
    begin_member(name);
    out_ << (value ? "true" : "false");
}

} // namespace command
