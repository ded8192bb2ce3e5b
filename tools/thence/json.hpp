// SPDX-License-Identifier: BSD-3-Clause
// Writes JSON: objects whose members keep the order in which they are given.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

namespace command {

// `text` as a JSON string. What is no valid UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

// Each open() needs its close(). The object without a name is the outermost one.
class json_writer {
public:
    explicit json_writer(std::ostream &out) noexcept : out_(out) {}

    void open(std::string_view name = {});
    void close();
    void member(std::string_view name, std::string_view value);
    void member(std::string_view name, const char *value); // null for a null pointer
    void member(std::string_view name, bool value);

private:
    void begin_member(std::string_view name);
    std::ostream &out_;
    int depth_ = 0;
    bool first_ = true;
};

} // namespace command
