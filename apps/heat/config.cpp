// SPDX-License-Identifier: BSD-3-Clause
// One table of keys, one pass over the lines. Each value is parsed completely or refused: trailing text, `nan` and
// numbers that do not fit are errors, never a silent default.
#include "config.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

namespace heat {
namespace {

constexpr int max_side = 1 << 20;

std::string_view trim(std::string_view s) {
    constexpr std::string_view space = " \t\r\f\v";
    const auto first = s.find_first_not_of(space);
    if (first == std::string_view::npos) {
        return {};
    }
    return s.substr(first, s.find_last_not_of(space) - first + 1);
}

std::string quote(std::string_view s) {
    std::string quoted(1, '\'');
    quoted.append(s);
    return quoted += '\'';
}

template <class T> std::optional<T> number(std::string_view s) {
    T value{};
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (s.empty() || error != std::errc{} || end != s.data() + s.size()) {
        return std::nullopt;
    }
    if constexpr (std::is_floating_point_v<T>) {
        if (!std::isfinite(value)) {
            return std::nullopt;
        }
    }
    return value;
}

std::vector<std::string_view> words(std::string_view s) {
    std::vector<std::string_view> out;
    while (!(s = trim(s)).empty()) {
        const auto end = std::min(s.find_first_of(" \t"), s.size());
        out.push_back(s.substr(0, end));
        s.remove_prefix(end);
    }
    return out;
}

// Edit distance, for "did you mean".
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
        }
    }
    return row.back();
}

// Parses the value of a key and stores it. Throws ConfigError with the reason; the caller adds file and line.
using Setter = std::function<void(Config &, std::string_view)>;

Setter integer(int Config::*field) {
    return [=](Config &c, std::string_view v) {
        const auto n = number<int>(v);
        if (!n) {
            throw ConfigError(quote(v) + " is not a whole number");
        }
        c.*field = *n;
    };
}

Setter temperature(double Config::*field) {
    return [=](Config &c, std::string_view v) {
        const auto t = number<double>(v);
        if (!t) {
            throw ConfigError(quote(v) + " is not a number");
        }
        c.*field = *t;
    };
}

void set_size(Config &c, std::string_view v) {
    const auto size = parse_size(v);
    if (!size) {
        throw ConfigError(quote(v) + " is not a size; write ROWS x COLUMNS, for example 512 x 1024");
    }
    c.rows = size->rows;
    c.cols = size->cols;
}

void add_source(Config &c, std::string_view v) {
    const auto w = words(v);
    if (w.size() != 4) {
        throw ConfigError("a source has 4 numbers, X Y RADIUS TEMPERATURE; here are " + std::to_string(w.size()));
    }
    double n[4];
    for (int i = 0; i < 4; ++i) {
        const auto x = number<double>(w[i]);
        if (!x) {
            throw ConfigError(quote(w[i]) + " is not a number");
        }
        n[i] = *x;
    }
    if (n[0] < 0 || n[0] > 1 || n[1] < 0 || n[1] > 1) {
        throw ConfigError("X and Y of a source are fractions of the plate, between 0 and 1");
    }
    if (n[2] <= 0 || n[2] > 1) {
        throw ConfigError("RADIUS of a source is a fraction of the width, above 0 and at most 1");
    }
    c.sources.push_back({n[0], n[1], n[2], n[3]});
}

void set_picture(Config &c, std::string_view v) {
    c.picture = v;
}

struct Key {
    Setter set;
    bool repeats = false;
};

const std::map<std::string, Key, std::less<>> &keys() {
    static const std::map<std::string, Key, std::less<>> table{
        {"size", {set_size}},
        {"iterations", {integer(&Config::iterations)}},
        {"block", {integer(&Config::block)}},
        {"initial", {temperature(&Config::initial)}},
        {"border.top", {temperature(&Config::top)}},
        {"border.bottom", {temperature(&Config::bottom)}},
        {"border.left", {temperature(&Config::left)}},
        {"border.right", {temperature(&Config::right)}},
        {"source", {add_source, true}},
        {"picture", {set_picture}},
        {"picture.black", {temperature(&Config::black)}},
        {"picture.white", {temperature(&Config::white)}},
    };
    return table;
}

// Why a number is out of range; empty if all are in range.
std::string out_of_range(const Config &c) {
    if (c.rows < 1 || c.cols < 1 || c.rows > max_side || c.cols > max_side) {
        return "size " + std::to_string(c.rows) + " x " + std::to_string(c.cols) +
               " is out of range; rows and columns lie between 1 and " + std::to_string(max_side);
    }
    if (c.iterations < 1) {
        return "iterations is " + std::to_string(c.iterations) + "; it must be at least 1";
    }
    if (c.block < 1) {
        return "block is " + std::to_string(c.block) + "; it must be at least 1";
    }
    return {};
}

std::string unknown_key(std::string_view key) {
    std::string best, all;
    std::size_t least = 4; // a key with this many edits is not a misspelling
    for (const auto &[name, unused] : keys()) {
        all += (all.empty() ? "" : ", ") + name;
        if (const auto d = distance(key, name); d < least) {
            least = d, best = name;
        }
    }
    return "unknown key " + quote(key) +
           (best.empty() ? "; the keys are " + all : "; did you mean " + quote(best) + "?");
}

} // namespace

std::optional<Size> parse_size(std::string_view text) {
    const auto x = text.find_first_of("xX");
    const auto rows = number<int>(trim(text.substr(0, x)));
    const auto cols = x == std::string_view::npos ? rows : number<int>(trim(text.substr(x + 1)));
    if (!rows || !cols) {
        return std::nullopt;
    }
    return Size{*rows, *cols};
}

void check_config(const Config &config, std::string_view where) {
    std::string why = out_of_range(config);
    if (why.empty() && config.black == config.white) {
        why = "picture.black and picture.white are equal, so the picture would have no contrast";
    }
    if (!why.empty()) {
        throw ConfigError(std::string(where) + ": " + why);
    }
}

Config parse_config(std::string_view text, std::string_view name) {
    Config config;
    std::map<std::string, int, std::less<>> seen; // key -> line
    int line_number = 0;
    const auto fail = [&](const std::string &why) {
        throw ConfigError(std::string(name) + ":" + std::to_string(line_number) + ": " + why);
    };
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const auto line = trim(text.substr(0, std::min(text.substr(0, end).find('#'), end)));
        text.remove_prefix(std::min(end + 1, text.size()));
        ++line_number;
        if (line.empty()) {
            continue;
        }

        const auto equals = line.find('=');
        if (equals == std::string_view::npos) {
            fail("expected key = value, found " + quote(line));
        }
        const auto key = trim(line.substr(0, equals));
        const auto value = trim(line.substr(equals + 1));
        const auto entry = keys().find(key);
        if (entry == keys().end()) {
            fail(unknown_key(key));
        }
        if (value.empty()) {
            fail("the key " + quote(key) + " has no value");
        }
        const auto [first, fresh] = seen.try_emplace(std::string(key), line_number);
        if (!fresh && !entry->second.repeats) {
            fail("the key " + quote(key) + " is set already in line " + std::to_string(first->second));
        }
        try {
            entry->second.set(config, value);
        } catch (const ConfigError &e) {
            fail(e.what());
        }
        if (const auto why = out_of_range(config); !why.empty()) {
            fail(why);
        }
    }
    check_config(config, name);
    return config;
}

} // namespace heat
