// SPDX-License-Identifier: BSD-3-Clause
// The figures of the benchmark simulated_scale: simulated times, which repeat exactly.
#pragma once

#include "measure/limit.hpp"

#include "bt_mz/layout.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace measure::simulated_runs {

constexpr double bar_uneven = 1.15; // with imbalance or noise; else 1
constexpr double bar_wall = 300;    // seconds of this machine for a run of 1,024 ranks

// What the rank that computes longest needs for `steps` steps of its zones, whatever the order; `factor` of a rank is
// how many times as slow it is.
inline double longest_computation(const std::vector<bt_mz::ZoneShape> &zones, int ranks, double cell_seconds, int steps,
                                  const std::function<double(int rank)> &factor) {
    const std::vector<int> owner = bt_mz::distribute(zones, ranks);
    std::vector<double> seconds(static_cast<std::size_t>(ranks));
    for (const bt_mz::ZoneShape &zone : zones) {
        const int rank = owner[static_cast<std::size_t>(zone.number)];
        seconds[static_cast<std::size_t>(rank)] +=
            factor(rank) * cell_seconds * steps * static_cast<double>(zone.cells());
    }
    return *std::max_element(seconds.begin(), seconds.end());
}

// The bar is for the ratio as it is, and not as it is printed.
inline figure compared(const std::string &name, bool uneven, double ours, double mpi) {
    const double ratio = mpi / ours;
    return {.name = name,
            .found = {ratio, ratio, ratio},
            .unit = "times the speed",
            .kind = bar_kind::at_least,
            .bar = uneven ? bar_uneven : 1.0,
            .against = "MPI only, simulated time",
            .side_unit = "simulated milliseconds",
            .ours = 1e3 * ours,
            .baseline = 1e3 * mpi};
}

// The shortest possible time of a run, in words and in simulated seconds; nothing if the benchmark knows none.
struct shortest {
    std::string what;
    double seconds;
};

// Of two such times a run needs the longer one.
inline shortest longer(const shortest &a, const shortest &b) {
    return a.seconds < b.seconds ? b : a;
}

inline void add_limit(figure &to, const std::optional<shortest> &possible, double mpi) {
    if (possible) {
        measure::add_limit(to, {.what = possible->what, .value = mpi / possible->seconds});
    } else {
        add_no_limit(to, "noise changes how long each rank computes");
    }
}

inline figure wall_time(double seconds, const std::string &run) {
    figure found{.name = "longest run of 1,024 ranks",
                 .found = {seconds, seconds, seconds},
                 .unit = "s of this machine",
                 .kind = bar_kind::at_most,
                 .bar = bar_wall,
                 .against = "the bar alone",
                 .note = run};
    add_no_limit(found, "the simulator's own time is not measured apart");
    return found;
}

} // namespace measure::simulated_runs
