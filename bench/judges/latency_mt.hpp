// SPDX-License-Identifier: BSD-3-Clause
// The figures of the benchmark latency_mt: fibers against threads.
#pragma once

#include "measure/limit.hpp"

#include <string>
#include <vector>

namespace measure::latency_runs {

// Microseconds of the same rounds. `waitany`: one thread without fibers.
inline figure compared(const std::string &name, const std::string &against, const std::vector<double> &fibers,
                       const std::vector<double> &threads, const std::vector<double> &waitany) {
    const auto ratio_to_threads = [&](const std::vector<double> &times) {
        std::vector<double> ratios(times.size());
        for (std::size_t i = 0; i < times.size(); ++i) {
            ratios[i] = times[i] / threads[i];
        }
        return median_of(ratios);
    };
    figure found{.name = name,
                 .found = ratio_to_threads(fibers),
                 .unit = "times the latency",
                 .kind = bar_kind::at_most,
                 .bar = 0.5,
                 .against = against,
                 .side_unit = "microseconds, half a round trip",
                 .ours = median_of(fibers).value,
                 .baseline = median_of(threads).value,
                 .note = "fibers use MPI_THREAD_SINGLE, threads need MPI_THREAD_MULTIPLE"};
    add_limit(found, {.what = "one thread without fibers, MPI_Irecv, MPI_Isend and MPI_Waitany",
                      .value = ratio_to_threads(waitany).value});
    return found;
}

} // namespace measure::latency_runs
