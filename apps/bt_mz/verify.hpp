// SPDX-License-Identifier: BSD-3-Clause
// The official verification: ten norms, five of the residual and five of the error of the solution, must agree with the
// values of the class within a relative difference of 1e-8.
#pragma once

#include "problem.hpp"

#include <string>
#include <vector>

namespace bt_mz {

constexpr double tolerance = 1e-8;

struct ComparedNorm {
    std::string name;                    // for example "residual of the energy"
    double value, reference, difference; // the last is relative
    bool agrees;                         // a value that is no number does not
};

struct Verification {
    enum Verdict { unchecked, verified, failed } verdict = unchecked;
    std::string text; // one line, or one for each value that is off
    std::vector<ComparedNorm> norms;
};

// `steps` and `dt` are those of the run. With another number of steps than the class has there is nothing to compare
// with, so the verdict is `unchecked`. Another time step is a failure, as in the official program.
Verification verify(const Problem &problem, int steps, double dt, const Norms &residual, const Norms &error);

const char *verdict_name(Verification::Verdict verdict);

} // namespace bt_mz
