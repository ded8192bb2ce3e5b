// SPDX-License-Identifier: BSD-3-Clause
// Events in Chrome's trace format.
#pragma once

#include "core/diagnose/process_identity.hpp"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>

namespace thence::diagnose {

inline std::string quoted(const std::string &text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
        }
        if (static_cast<unsigned char>(c) < 0x20) {
            result += ' ';
        } else {
            result += c;
        }
    }
    return result + "\"";
}

inline std::string microseconds(std::uint64_t ns) {
    char text[40];
    std::snprintf(text, sizeof text, "%" PRIu64 ".%03u", ns / 1000, static_cast<unsigned>(ns % 1000));
    return text;
}

// A member of a JSON object that is not its first.
inline std::string member(const char *name, const std::string &value) {
    return std::string(",\"") + name + "\":" + value;
}

// Writes the array of events. Converts times to microseconds.
class event_writer {
public:
    explicit event_writer(std::FILE *out) noexcept : out_(out), process_(process_identity().rank + 1) {}

    // `rest`: further members of the JSON object, each with a leading comma.
    void event(const char *phase, const std::string &name, int thread, std::uint64_t ns, const std::string &rest) {
        std::fprintf(out_, "%s\n{\"ph\":\"%s\",\"name\":%s,\"pid\":%d,\"tid\":%d,\"ts\":%s%s}", first_ ? "" : ",",
                     phase, quoted(name).c_str(), process_, thread, microseconds(ns).c_str(), rest.c_str());
        first_ = false;
    }
    void name(const char *what, int thread, const std::string &value) {
        event("M", what, thread, 0, ",\"args\":{\"name\":" + quoted(value) + "}");
    }

private:
    std::FILE *out_;
    int process_; // not 0, which Perfetto takes for the idle task
    bool first_ = true;
};

// Which changes of a counter to write, if there are many: of those that follow one another quickly, the last one, whose
// value lasts.
class counter_samples {
public:
    counter_samples(std::uint64_t first, std::uint64_t last) : step_((last - first) / about) {}
    // `next`: when it changes again.
    bool wants(std::uint64_t at, std::uint64_t next) {
        if (next < due_) {
            return false;
        }
        due_ = at + step_;
        return true;
    }

private:
    static constexpr std::uint64_t about = 20'000; // so many are written, at most twice as many
    std::uint64_t step_;
    std::uint64_t due_ = 0;
};

} // namespace thence::diagnose
