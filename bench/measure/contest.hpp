// SPDX-License-Identifier: BSD-3-Clause
// Used by the judge: contenders that compute the same thing run alternately, so that a disturbance affects all. Each run is
// processes of its own, so that idle threads of one take no time from another.
//
// Invariant: times are compared only if all runs computed the same. The work reports `seconds` and, after them, a
// `checksum` (measure/checksum.hpp); a run of a limit, which computes something else, reports none.
#pragma once

#include "measure/session.hpp"

#include <functional>

namespace measure {

struct contender {
    std::string name; // as figures show it
    std::function<numbers()> run;
};

class contest {
public:
    // Runs all contenders, `rounds` times. Throws std::runtime_error if a checksum differs from the first one.
    contest(const std::vector<contender> &all, int rounds);

    double seconds(std::size_t c) const { return median_of(times[c]).value; }
    // How many times as fast contender `c` is as `baseline`, from the runs of the same rounds.
    sample speed(std::size_t c, std::size_t baseline) const;
    // The contender of [first, last) with the shortest median time. A median of the shortest times of each round would
    // favour a larger number of contenders.
    std::size_t best(std::size_t first, std::size_t last) const;
    // The speed of `c` against `baseline` as a figure without a bar; side figures are milliseconds divided by `steps`.
    figure compared(std::size_t c, std::size_t baseline, double steps = 1) const;

private:
    std::vector<std::string> names;
    std::vector<std::vector<double>> times; // of each contender, one for each round
};

} // namespace measure
