// SPDX-License-Identifier: BSD-3-Clause
// What a benchmark found: figures, each with what it was compared with, and the bar it has to meet.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace measure {

// A measured number with the extremes of its repetitions.
struct sample {
    double value = 0; // median
    double low = 0;
    double high = 0;
};

sample median_of(std::vector<double> values);

enum class bar_kind { none, at_most, at_least };

struct figure {
    std::string name = {}; // the case: thread level, engine, ...
    sample found = {};     // what is judged
    std::string unit = {};
    bar_kind kind = bar_kind::none; // `none`: told, not judged
    double bar = 0;
    std::optional<double> aim = {};
    std::string against = {};   // what a user does without Thence
    std::string side_unit = {}; // of the two sides below
    std::optional<double> ours = {};
    std::optional<double> baseline = {};
    std::string to_beat = {}; // what others reach, as text
    std::string note = {};    // what else a reader has to know, as what this machine allows

    bool passed() const;
    bool doubtful() const; // some repetitions pass and others do not: the machine may have been busy
};

struct report {
    std::string name;
    std::string about;
    std::vector<figure> figures;
    std::string skipped; // why there is nothing to judge here
    std::string failed;  // why it could not be measured

    bool passed() const;
};

void to_json(nlohmann::json &json, const figure &from);
void from_json(const nlohmann::json &json, figure &to);
void to_json(nlohmann::json &json, const report &from);
void from_json(const nlohmann::json &json, report &to);

} // namespace measure
