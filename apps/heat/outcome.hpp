// SPDX-License-Identifier: BSD-3-Clause
// The results of a run: what was measured, the whole field on rank 0, and the result of its comparison.
#pragma once

#include "options.hpp"

#include "common/measure.hpp"
#include "common/npy.hpp"

namespace heat {

// The plate without its border, row by row.
using Field = apps::Array2;

struct Comparison {
    enum Verdict { unchecked, identical, differs } verdict = unchecked;
    std::string against;     // what it was compared with
    std::string text;        // one line of output
    double serial_time = -1; // of the serial run; negative if there was none
};

struct Outcome {
    apps::Measured measured;
    Comparison comparison;
};

// Gathers on rank 0; on other ranks it returns an empty field.
Field gather_field(const Run &run);

Comparison compare(const Field &field, const Field &reference, std::string against);

void print_table(const Run &run, const Options &options, const Config &config, const Outcome &outcome);
void write_json(const Run &run, const Options &options, const Config &config, const Outcome &outcome);

} // namespace heat
