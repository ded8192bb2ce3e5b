// SPDX-License-Identifier: BSD-3-Clause
// The figures of the benchmark offload: tasks that move by continuations against tasks that stay, and against the
// manager of requests that workers poll, the best of its windows. Each has a bar and a limit.
#pragma once

#include "measure/contest.hpp"
#include "measure/limit.hpp"

#include <string>
#include <vector>

namespace measure::offload_runs {

constexpr std::size_t none = 0, continuations = 1, first_polling = 2; // the contenders; then come those that poll

inline std::vector<figure> figures_of(const contest &runs, std::size_t contenders, const std::string &where) {
    std::vector<figure> all;
    for (const std::size_t against : {none, runs.best(first_polling, contenders)}) {
        figure found = runs.compared(continuations, against);
        const sample speed = found.found;
        found.found = {1 / speed.value, 1 / speed.high, 1 / speed.low};
        found.name = where + (against == none ? ", against tasks that stay" : ", against polling");
        found.unit = "of the time";
        found.kind = bar_kind::at_most;
        found.bar = against == none ? 0.75 : 0.95;
        add_limit(found, {.what = "work that is divided without a rest, at once and without messages",
                          .value = 1 / runs.speed_of_computation(against).value});
        all.push_back(std::move(found));
    }
    return all;
}

} // namespace measure::offload_runs
