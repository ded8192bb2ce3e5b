// SPDX-License-Identifier: BSD-3-Clause
// The figures of the benchmarks heat and heat_threads: the best variant with tasks of each shape against each opponent.
#pragma once

#include "measure/contest.hpp"
#include "measure/limit.hpp"

#include <functional>
#include <string>
#include <vector>

namespace measure::heat_runs {

struct shape {
    int ranks, threads;
};

// A baseline, and what the best variant with tasks must reach against it; with a bar of 0 the figure has none.
struct opponent {
    std::size_t variant;
    shape of;
    double bar = 0;
};

// Measures the limit of a contender against an opponent. Called only if a bar is missed.
using limit_of = std::function<limit(std::size_t contender, const opponent &)>;

// The first contenders are the opponents; then come `variants` variants with tasks in each of the shapes. Bars are for
// the first shape.
inline std::vector<figure> figures_of(const contest &runs, const std::string &situation,
                                      const std::vector<opponent> &opponents, const std::vector<shape> &shapes,
                                      std::size_t variants, const limit_of &measured) {
    std::vector<figure> all;
    for (std::size_t s = 0; s < shapes.size(); ++s) {
        const std::size_t first = opponents.size() + s * variants, best = runs.best(first, first + variants);
        for (std::size_t o = 0; o < opponents.size(); ++o) {
            figure found = runs.compared(best, o);
            found.name = situation + ": " + found.name + ", the best with tasks" +
                         (shapes[s].ranks > 1 ? " and messages" : " on one rank, without messages");
            if (s == 0 && opponents[o].bar > 0) {
                found.kind = bar_kind::at_least;
                found.bar = opponents[o].bar;
                if (!found.passed()) {
                    add_limit(found, measured(best, opponents[o]));
                }
            }
            all.push_back(std::move(found));
        }
    }
    return all;
}

} // namespace measure::heat_runs
