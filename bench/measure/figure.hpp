// SPDX-License-Identifier: BSD-3-Clause
// The results of a benchmark: figures, each with its baseline and the bar that it has to meet.
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

// A number with about three digits, as tables show it.
std::string text_of(double value);
// The same with as many digits as make it differ from another number, if they are not equal.
std::string text_beside(double value, double other);

enum class bar_kind { none, at_most, at_least };

struct figure {
    std::string name = {}; // the case: thread level, engine, ...
    sample found = {};     // the result, which is compared with the bar
    std::string unit = {};
    bar_kind kind = bar_kind::none; // `none`: the figure has no bar
    double bar = 0;
    std::optional<double> aim = {};
    std::string against = {};   // the baseline, in words
    std::string side_unit = {}; // the unit of `ours` and `baseline`
    std::optional<double> ours = {};
    std::optional<double> baseline = {};
    std::optional<double> limit = {}; // what no variant surpasses on this machine (measure/limit.hpp)
    std::string to_beat = {};         // published results of others, as text
    std::string note = {};            // what else the reader must know, for example what the limit is

    bool passed() const;
    bool doubtful() const; // some repetitions meet the bar and others do not: the machine may have been busy
};

struct report {
    std::string name;
    std::string about;
    std::vector<figure> figures;
    std::string skipped; // why the benchmark does not apply here
    std::string failed;  // why it could not be measured

    bool passed() const;
};

void to_json(nlohmann::json &json, const figure &from);
void from_json(const nlohmann::json &json, figure &to);
void to_json(nlohmann::json &json, const report &from);
void from_json(const nlohmann::json &json, report &to);

} // namespace measure
