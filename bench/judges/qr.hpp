// SPDX-License-Identifier: BSD-3-Clause
// The figures of the benchmark qr: active messages against the same tasks on the reference engine, the best of its
// windows, and against fork-join. Where messages take long, the bar is higher.
#pragma once

#include "measure/contest.hpp"
#include "measure/limit.hpp"

#include <array>
#include <string>
#include <vector>

namespace measure::qr_runs {

constexpr std::array windows{16, 64, 256}; // of the reference engine
constexpr std::size_t messages = 0, fork_join = 1, first_reference = 2, contenders = first_reference + windows.size();

struct situation {
    std::string where;
    double bar;               // against each baseline
    bool has_messages = true; // else the engines have nothing to do
};

// `launches`: what each launch has reported, the times of the contenders and `compute_seconds`.
inline std::vector<figure> figures_of(const std::vector<numbers> &launches, const situation &in) {
    std::vector<std::string> names{"active messages", "fork-join"};
    names.resize(contenders, "the reference engine, best window");
    const contest runs = contest::of_launches(names, launches);
    std::vector<std::size_t> baselines{fork_join};
    if (in.has_messages) {
        baselines.insert(baselines.begin(), runs.best(first_reference, contenders));
    }
    std::vector<figure> all;
    for (const std::size_t baseline : baselines) {
        figure found = runs.compared(messages, baseline);
        found.name = in.where + ", compared with " + names[baseline];
        found.kind = bar_kind::at_least;
        found.bar = in.bar;
        add_limit(found, {.what = "computation alone, without messages, waiting and tasks",
                          .value = runs.speed_of_computation(baseline).value});
        all.push_back(std::move(found));
    }
    return all;
}

} // namespace measure::qr_runs
