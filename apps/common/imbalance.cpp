// SPDX-License-Identifier: BSD-3-Clause
// Every error names the text and shows one that is right.
#include "imbalance.hpp"
#include "input_error.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>

namespace apps {
namespace {

constexpr double largest_factor = 1000;

[[noreturn]] void fail(const std::string &text, const std::string &why) {
    throw std::invalid_argument("'" + text + "': " + why);
}

double number(const std::string &text, const std::string &word) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size()) {
        fail(text, "'" + word + "' is not a number");
    }
    return value;
}

std::vector<double> numbers(const std::string &text, const std::string &list) {
    std::vector<double> values;
    std::istringstream words(list);
    for (std::string word; std::getline(words, word, ',');) {
        values.push_back(number(text, word));
    }
    return values;
}

std::string example(const std::string &part) {
    return part == "area" ? "area:0,0,0.5,1" : part + ":1";
}

} // namespace

bool Imbalance::has_member(int number) const {
    return std::find(members.begin(), members.end(), number) != members.end();
}

Imbalance parse_imbalance(const std::string &text, const std::vector<std::string> &parts) {
    const auto at = text.find('@'), colon = text.find(':');
    if (at == std::string::npos || colon == std::string::npos || colon < at) {
        fail(text, "not of the form FACTOR@PART; write for example 5@" + example(parts.front()));
    }
    Imbalance out;
    out.text = text;
    out.factor = number(text, text.substr(0, at));
    if (!(out.factor >= 1 && out.factor <= largest_factor)) {
        fail(text, "the factor is between 1 and 1000");
    }
    const std::string part = text.substr(at + 1, colon - at - 1);
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) {
        std::string known;
        for (const std::string &p : parts) {
            known += (known.empty() ? "" : ", ") + p;
        }
        fail(text, "'" + part + "' is unknown; known are " + known);
    }
    const std::vector<double> values = numbers(text, text.substr(colon + 1));
    if (part == "area") {
        out.part = Imbalance::area;
        const bool fractions = std::all_of(values.begin(), values.end(), [](double v) { return v >= 0 && v <= 1; });
        if (values.size() != 4 || !fractions || !(values[0] < values[2]) || !(values[1] < values[3])) {
            fail(text, "an area is X0,Y0,X1,Y1 with X0 < X1 and Y0 < Y1, fractions of width and height from 0 to 1");
        }
        out.x0 = values[0], out.y0 = values[1], out.x1 = values[2], out.y1 = values[3];
        return out;
    }
    out.part = part == "rank" ? Imbalance::rank : part == "zones" ? Imbalance::zones : Imbalance::lanes;
    for (const double v : values) {
        if (!(v >= 0 && v < 1e9) || v != static_cast<int>(v)) {
            fail(text, part + " numbers are whole, from 0");
        }
        out.members.push_back(static_cast<int>(v));
    }
    if (out.members.empty()) {
        fail(text, "no number after '" + part + ":'");
    }
    return out;
}

void check_imbalance(const std::optional<Imbalance> &imbalance, int ranks, int others, const std::string &option) {
    if (!imbalance || imbalance->part == Imbalance::area) {
        return;
    }
    const Imbalance::Part part = imbalance->part;
    const int count = part == Imbalance::rank ? ranks : others;
    const std::string member = part == Imbalance::rank ? "rank " : part == Imbalance::zones ? "zone " : "lane ";
    const auto wrong = std::ranges::find_if(imbalance->members, [&](int m) { return m >= count; });
    if (wrong != imbalance->members.end()) {
        throw InputError(option + " '" + imbalance->text + "': there is no " + member + std::to_string(*wrong) +
                         ", only 0 to " + std::to_string(count - 1));
    }
}

} // namespace apps
