// SPDX-License-Identifier: BSD-3-Clause
// The figure of the benchmark am_latency: half a round trip of an active message, against MPI_Send and MPI_Recv.
#pragma once

#include "measure/contest.hpp"
#include "measure/limit.hpp"

#include <string>
#include <vector>

namespace measure::am_latency_runs {

constexpr std::size_t ours = 0, plain = 1, limit = 2;

// `launches`: what each launch has reported, the times of the contenders for so many round trips.
inline figure figure_of(const std::vector<numbers> &launches, int round_trips, const std::string &name) {
    const contest runs = contest::of_launches({"active messages", "MPI_Send, MPI_Recv", "the limit"}, launches);
    figure found{.name = name,
                 .found = runs.speed(plain, ours), // how many times as long
                 .unit = "times half a round trip",
                 .kind = bar_kind::at_most,
                 .bar = 1.2,
                 .against = "MPI_Send, MPI_Recv",
                 .side_unit = "microseconds",
                 .ours = runs.seconds(ours) / (2e-6 * round_trips),
                 .baseline = runs.seconds(plain) / (2e-6 * round_trips)};
    add_limit(found, {.what = "MPI_Send and MPI_Recv of the 24 bytes of its packet, and a call of a function",
                      .value = runs.speed(plain, limit).value});
    return found;
}

} // namespace measure::am_latency_runs
