// SPDX-License-Identifier: BSD-3-Clause
// The results of a run: what was measured, and the comparison of all cells with those of a serial run.
#pragma once

#include "options.hpp"

#include "common/measure.hpp"

namespace amr {

struct Outcome {
    apps::Measured measured;
    double updates = 0;     // of cells and variables
    double refine_time = 0; // of the rank that took least, which did not wait for others
    long blocks = 0, moved = 0;
    double serial_time = -1; // of the serial run; negative if there was none
    std::string wrong;       // the first wrong cell
};

void print_table(const Options &options, const Outcome &outcome);
void write_json(const Options &options, const Outcome &outcome);

} // namespace amr
