// SPDX-License-Identifier: BSD-3-Clause
// The results of a run on rank 0: what was measured, what each zone took, and the verification.
#pragma once

#include "options.hpp"
#include "verify.hpp"

#include "common/measure.hpp"

namespace bt_mz {

// What one zone has to say at the end. Only doubles, so that it is sent as one array.
struct ZoneResult {
    double number;
    double compute; // seconds of all threads
    double residual[components], error[components];
};

struct Outcome {
    apps::Measured measured;
    std::vector<ZoneResult> zones; // all, by number
    Verification verification;
};

// Collective; on other ranks than 0 the result is empty. Computes the right side of every zone, which ends the run.
std::vector<ZoneResult> gather_zones(const Run &run);

// Millions of operations that a run counts as, by the official formula.
double operations(const std::vector<ZoneShape> &shapes, int steps);

void print_table(const Run &run, const Options &options, const Outcome &outcome);
void write_json(const Run &run, const Options &options, const Outcome &outcome);

} // namespace bt_mz
