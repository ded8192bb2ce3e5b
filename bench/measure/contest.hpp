// SPDX-License-Identifier: BSD-3-Clause
// Used by the judge: contenders that compute the same thing run alternately, so that a disturbance affects all. Each
// run is processes of its own, so that idle threads of one take no time from another. Contenders without threads may
// share processes (measure/alternate.hpp).
//
// Invariant: times are compared only if all runs did the same work. The work reports `seconds`. Every other number that
// it reports, such as a `checksum` (measure/checksum.hpp), must be the same in all runs that report it; a run of a
// limit, which computes something else, reports none.
//
// A run may also report `compute_seconds`: how long its slowest rank computes. That is a limit for all contenders.
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
    // Runs all contenders, `rounds` times. Throws std::runtime_error if a run reports another number than the first
    // one.
    contest(const std::vector<contender> &all, int rounds);
    // `launches`: what alternate() has reported in each of them, with the contenders in the order of `names`, and
    // `compute_seconds`, if the work reports it: the least of all contenders.
    static contest of_launches(const std::vector<std::string> &names, const std::vector<numbers> &launches);

    double seconds(std::size_t c) const { return median_of(times[c]).value; }
    // How many times as fast contender `c` is as `baseline`, from the runs of the same rounds.
    sample speed(std::size_t c, std::size_t baseline) const;
    // How many times as fast as `baseline` a run is that only computes, and neither waits nor communicates. In each
    // round it is that of the contender which computes least. Throws std::runtime_error if no contender has reported
    // `compute_seconds`.
    sample speed_of_computation(std::size_t baseline) const;
    // The contender of [first, last) with the shortest median time. A median of the shortest times of each round would
    // favour a larger number of contenders.
    std::size_t best(std::size_t first, std::size_t last) const;
    // The speed of `c` against `baseline` as a figure without a bar; side figures are milliseconds divided by `steps`.
    figure compared(std::size_t c, std::size_t baseline, double steps = 1) const;

private:
    explicit contest(std::vector<std::string> names_of_all) : names(std::move(names_of_all)), times(names.size()) {}

    std::vector<std::string> names;
    std::vector<std::vector<double>> times; // of each contender, one for each round or launch
    std::vector<double> computation;        // the least of each round, if any contender reports it
};

} // namespace measure
