// SPDX-License-Identifier: BSD-3-Clause
// After the NAS Parallel Benchmarks 3.3 (NASA Ames): what counts as verified.
#include "verify.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace bt_mz {
namespace {

const char *const component_names[components] = {"density", "momentum in x", "momentum in y", "momentum in z",
                                                 "energy"};

std::string line(const char *format, auto... values) {
    char text[256];
    std::snprintf(text, sizeof text, format, values...);
    return text;
}

} // namespace

Verification verify(const Problem &p, int steps, double dt, const Norms &residual, const Norms &error) {
    Verification v;
    const auto compare = [&](const char *what, const Norms &values, const Norms &references) {
        for (std::size_t m = 0; m < components; ++m) {
            const double difference = std::abs((values[m] - references[m]) / references[m]);
            v.norms.push_back({std::string(what) + " of the " + component_names[m], values[m], references[m],
                               difference, difference <= tolerance});
        }
    };
    compare("residual", residual, p.residual);
    compare("error", error, p.error);
    if (steps != p.steps) {
        v.text = line("not verified: class %c has values for %d steps, and this run has %d", p.name, p.steps, steps);
        return v;
    }
    std::string wrong;
    if (!(std::abs(dt - p.dt) <= tolerance)) {
        wrong += line("\n  the time step is %g, and that of class %c is %g", dt, p.name, p.dt);
    }
    double largest = 0;
    for (const ComparedNorm &n : v.norms) {
        largest = std::max(largest, n.difference);
        if (!n.agrees) {
            wrong += line("\n  %s is %.12e, and should be %.12e: off by %.2e of it, at most %.0e is allowed",
                          n.name.c_str(), n.value, n.reference, n.difference, tolerance);
        }
    }
    v.verdict = wrong.empty() ? Verification::verified : Verification::failed;
    v.text = wrong.empty() ? line("verified: all 10 norms of class %c, the largest difference is %.1e", p.name, largest)
                           : line("FAILED for class %c:", p.name) + wrong;
    return v;
}

const char *verdict_name(Verification::Verdict v) {
    return v == Verification::verified ? "verified" : v == Verification::failed ? "FAILED" : "unchecked";
}

} // namespace bt_mz
