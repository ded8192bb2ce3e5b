// SPDX-License-Identifier: BSD-3-Clause
#include "measure/figure.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace measure {
namespace {

void put(nlohmann::json &json, const char *key, const std::optional<double> &value) {
    if (value) {
        json[key] = *value;
    }
}

std::optional<double> get(const nlohmann::json &json, const char *key) {
    return json.contains(key) ? std::optional<double>(json.at(key).get<double>()) : std::nullopt;
}

} // namespace

sample median_of(std::vector<double> values) {
    if (values.empty()) {
        return {};
    }
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
    return {median, values.front(), values.back()};
}

std::string text_of(double value) {
    char text[64];
    const double size = std::fabs(value);
    std::snprintf(text, sizeof text,
                  size >= 100000 ? "%.3g"
                  : size >= 100  ? "%.0f"
                  : size >= 10   ? "%.1f"
                                 : "%.3g",
                  value);
    return text;
}

std::string text_beside(double value, double other) {
    std::string text = text_of(value), of_other = text_of(other);
    for (int digits = 4; digits <= 17 && value != other && text == of_other; ++digits) {
        char texts[2][64];
        std::snprintf(texts[0], sizeof texts[0], "%.*g", digits, value);
        std::snprintf(texts[1], sizeof texts[1], "%.*g", digits, other);
        text = texts[0], of_other = texts[1];
    }
    return text;
}

bool figure::passed() const {
    switch (kind) {
    case bar_kind::at_most:
        return found.value <= bar;
    case bar_kind::at_least:
        return found.value >= bar;
    case bar_kind::none:
        break;
    }
    return true;
}

bool figure::doubtful() const {
    return kind != bar_kind::none && found.low < bar && bar < found.high;
}

bool report::passed() const {
    return failed.empty() && std::all_of(figures.begin(), figures.end(), [](const figure &f) { return f.passed(); });
}

void to_json(nlohmann::json &json, const figure &from) {
    json = {{"name", from.name},       {"value", from.found.value}, {"low", from.found.low},
            {"high", from.found.high}, {"unit", from.unit},         {"against", from.against}};
    if (from.kind != bar_kind::none) {
        json[from.kind == bar_kind::at_most ? "at_most" : "at_least"] = from.bar;
        json["passed"] = from.passed();
    }
    put(json, "aim", from.aim);
    put(json, "ours", from.ours);
    put(json, "baseline", from.baseline);
    put(json, "limit", from.limit);
    if (!from.side_unit.empty()) {
        json["side_unit"] = from.side_unit;
    }
    if (!from.to_beat.empty()) {
        json["to_beat"] = from.to_beat;
    }
    if (!from.note.empty()) {
        json["note"] = from.note;
    }
}

void from_json(const nlohmann::json &json, figure &to) {
    to.name = json.at("name");
    to.found = {json.at("value"), json.at("low"), json.at("high")};
    to.unit = json.at("unit");
    to.against = json.at("against");
    to.kind = json.contains("at_most")    ? bar_kind::at_most
              : json.contains("at_least") ? bar_kind::at_least
                                          : bar_kind::none;
    if (to.kind != bar_kind::none) {
        to.bar = json.at(to.kind == bar_kind::at_most ? "at_most" : "at_least");
    }
    to.aim = get(json, "aim");
    to.ours = get(json, "ours");
    to.baseline = get(json, "baseline");
    to.limit = get(json, "limit");
    to.side_unit = json.value("side_unit", "");
    to.to_beat = json.value("to_beat", "");
    to.note = json.value("note", "");
}

void to_json(nlohmann::json &json, const report &from) {
    json = {{"name", from.name}, {"about", from.about}, {"figures", from.figures}};
    if (!from.failed.empty()) {
        json["failed"] = from.failed;
    } else if (!from.skipped.empty()) {
        json["skipped"] = from.skipped;
    }
    json["passed"] = from.passed();
}

void from_json(const nlohmann::json &json, report &to) {
    to.name = json.at("name");
    to.about = json.at("about");
    to.figures = json.at("figures");
    to.failed = json.value("failed", "");
    to.skipped = json.value("skipped", "");
}

} // namespace measure
