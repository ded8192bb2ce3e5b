// SPDX-License-Identifier: BSD-3-Clause
// Used by the measured program: contenders with one thread a rank alternate in one process, so that a disturbance
// affects all, and no launch of ranks lies between two of them. The judge compares the medians of several launches
// (contest::of_launches).
#pragma once

#include "measure/figure.hpp"
#include "measure/work.hpp"

#include <string>
#include <vector>

namespace measure {

// Calls `run(c)`, which returns seconds, for each of the contenders, `rounds` times after `warm_ups` more. Each
// contender is first in turn: the scheduler may favour one place. Reports the median of contender c as `seconds_c`.
template <class Run> void alternate(work &work, std::size_t contenders, int rounds, int warm_ups, Run &&run) {
    std::vector<std::vector<double>> seconds(contenders);
    for (int i = 0; i < warm_ups + rounds; ++i) {
        for (std::size_t k = 0; k < contenders; ++k) {
            const std::size_t c = (k + static_cast<std::size_t>(i)) % contenders;
            const double took = run(c);
            if (i >= warm_ups) {
                seconds[c].push_back(took);
            }
        }
    }
    for (std::size_t c = 0; c < contenders; ++c) {
        work.result("seconds_" + std::to_string(c), median_of(seconds[c]).value);
    }
}

} // namespace measure
