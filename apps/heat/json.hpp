// SPDX-License-Identifier: BSD-3-Clause
// A minimal JSON writer: nesting, commas, escaped strings, and numbers that are read back without loss.
#pragma once

#include <charconv>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace heat {

class JsonWriter {
public:
    explicit JsonWriter(const std::string &name) : file(name), out(name) { open('{'); }

    // Closes the file; throws if anything could not be written.
    void finish() {
        close('}');
        out << '\n';
        out.close();
        if (!out)
            throw std::runtime_error(file + ": cannot write; check that the folder exists and has space");
    }

    JsonWriter &key(std::string_view name) {
        string(name);
        out << ": ";
        fresh = true;
        return *this;
    }
    template <class T> JsonWriter &value(const T &v) {
        if constexpr (std::is_same_v<T, bool>) {
            comma();
            out << (v ? "true" : "false");
        } else if constexpr (std::is_arithmetic_v<T>) {
            comma();
            char text[32];
            const auto end = std::to_chars(text, text + sizeof text, v).ptr;
            out.write(text, end - text);
        } else {
            string(v);
        }
        return *this;
    }
    template <class T> JsonWriter &member(std::string_view name, const T &v) { return key(name).value(v); }
    JsonWriter &open(char bracket) {
        comma();
        out << bracket;
        fresh = true;
        return *this;
    }
    JsonWriter &close(char bracket) {
        out << bracket;
        fresh = false;
        return *this;
    }
    JsonWriter &line() {
        newline = true;
        return *this;
    }

private:
    void comma() {
        if (!fresh)
            out << ", ";
        fresh = false;
        if (newline)
            out << '\n';
        newline = false;
    }
    void string(std::string_view s) {
        comma();
        out << '"';
        for (const char c : s) {
            if (c == '"' || c == '\\')
                out << '\\' << c;
            else if (static_cast<unsigned char>(c) < 0x20)
                out << ' ';
            else
                out << c;
        }
        out << '"';
    }

    std::string file;
    std::ofstream out;
    bool fresh = true, newline = false;
};

} // namespace heat
