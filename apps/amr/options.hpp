// SPDX-License-Identifier: BSD-3-Clause
// The command line of amr: the options of all applications and its own.
#pragma once

#include "run.hpp"

#include "common/application.hpp"

#include <string>

namespace amr {

struct Options : apps::OptionsOf<Variant> {
    Settings settings;
    double cell_cost = 0; // simulated seconds for one variable of one cell
    bool verify = false;
    std::string mesh; // file
};

extern const apps::Description description;

// Prints help or errors on rank 0 only. If it returns false, the program must exit with `status`.
bool parse_options(Options &options, int argc, char **argv, int &status);

} // namespace amr
