// SPDX-License-Identifier: BSD-3-Clause
// The figures of the benchmark am_rate: messages per second of the engine of active messages, against the reference
// engine with the best of several windows, and against a loop by hand.
#pragma once

#include "measure/contest.hpp"
#include "measure/limit.hpp"

#include <string>
#include <vector>

namespace measure::am_rate_runs {

constexpr std::size_t ours = 0, by_hand = 1, limit = 2, first_reference = 3;

// `launches`: what each launch has reported, the times of the contenders and the number of messages, `total`.
inline std::vector<figure> figures_of(const std::vector<numbers> &launches, std::size_t windows, long in_flight) {
    std::vector<std::string> names{"active messages", "MPI_Isend and persistent receives by hand", "the limit"};
    names.resize(first_reference + windows, "the reference engine, best window");
    const contest runs = contest::of_launches(names, launches);
    const double total = launches.front().at("total");
    std::vector<figure> all;
    for (const std::size_t baseline : {runs.best(first_reference, names.size()), by_hand}) {
        figure found{.name = std::to_string(in_flight) + " in flight, compared with " + names[baseline],
                     .found = runs.speed(ours, baseline),
                     .unit = "times the messages per second",
                     .kind = bar_kind::at_least,
                     .bar = in_flight == 1 ? 0.95 : 2.0,
                     .against = names[baseline],
                     .side_unit = "messages per second",
                     .ours = total / runs.seconds(ours),
                     .baseline = total / runs.seconds(baseline)};
        add_limit(found, {.what = in_flight == 1 ? "the loop by hand, and a call of a function for each message"
                                                 : "a loop by hand that packs what is acknowledged at once into one "
                                                   "message, and calls a function for each",
                          .value = runs.speed(limit, baseline).value});
        all.push_back(std::move(found));
    }
    return all;
}

} // namespace measure::am_rate_runs
