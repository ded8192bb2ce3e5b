// SPDX-License-Identifier: BSD-3-Clause
#include "measure/contest.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace measure {
namespace {

std::string exact_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

} // namespace

contest::contest(const std::vector<contender> &all, int rounds) : times(all.size()) {
    for (const contender &c : all) {
        names.push_back(c.name);
    }
    struct first {
        double value;
        std::string of;
    };
    std::map<std::string, first> must_be;
    for (int i = 0; i < rounds; ++i) {
        std::optional<double> least;
        for (std::size_t k = 0; k < all.size(); ++k) {
            const std::size_t c = (k + static_cast<std::size_t>(i)) % all.size(); // each is first in turn
            for (const auto &[key, value] : all[c].run()) {
                if (key == "seconds") {
                    times[c].push_back(value);
                    continue;
                }
                if (key == "compute_seconds") {
                    least = std::min(value, least.value_or(value));
                    continue;
                }
                const auto &[found, unused] = must_be.try_emplace(key, first{value, names[c]});
                if (found->second.value != value) {
                    throw std::runtime_error("not comparable: " + names[c] + " reports " + key + " " +
                                             exact_text(value) + ", " + found->second.of + " " +
                                             exact_text(found->second.value));
                }
            }
        }
        if (least) {
            computation.push_back(*least);
        }
    }
    for (std::size_t c = 0; c < all.size(); ++c) {
        if (times[c].size() != static_cast<std::size_t>(rounds)) {
            throw std::runtime_error(names[c] + " reports no seconds");
        }
    }
}

contest contest::of_launches(const std::vector<std::string> &names, const std::vector<numbers> &launches) {
    contest found(names);
    for (const numbers &launch : launches) {
        for (std::size_t c = 0; c < names.size(); ++c) {
            found.times[c].push_back(launch.at("seconds_" + std::to_string(c)));
        }
        if (const auto computed = launch.find("compute_seconds"); computed != launch.end()) {
            found.computation.push_back(computed->second);
        }
    }
    return found;
}

sample contest::speed(std::size_t c, std::size_t baseline) const {
    std::vector<double> ratios(times[c].size());
    for (std::size_t i = 0; i < ratios.size(); ++i) {
        ratios[i] = times[baseline][i] / times[c][i];
    }
    return median_of(ratios);
}

sample contest::speed_of_computation(std::size_t baseline) const {
    if (computation.size() != times[baseline].size()) {
        throw std::runtime_error("no contender reports compute_seconds in every round");
    }
    std::vector<double> ratios(computation.size());
    for (std::size_t i = 0; i < ratios.size(); ++i) {
        ratios[i] = times[baseline][i] / computation[i];
    }
    return median_of(ratios);
}

std::size_t contest::best(std::size_t first, std::size_t last) const {
    std::size_t found = first;
    for (std::size_t c = first + 1; c < last; ++c) {
        if (seconds(c) < seconds(found)) {
            found = c;
        }
    }
    return found;
}

figure contest::compared(std::size_t c, std::size_t baseline, double steps) const {
    return {.name = names[c],
            .found = speed(c, baseline),
            .unit = "times the speed",
            .against = names[baseline],
            .side_unit = steps == 1 ? "milliseconds" : "milliseconds per step",
            .ours = 1e3 * seconds(c) / steps,
            .baseline = 1e3 * seconds(baseline) / steps};
}

} // namespace measure
