// SPDX-License-Identifier: BSD-3-Clause
// The command line of bt_mz: the options of all applications and its own.
#pragma once

#include "run.hpp"

#include "common/options.hpp"

#include <optional>

namespace bt_mz {

struct Options : apps::CommonOptions {
    const Problem *problem = nullptr;
    const Variant *chosen = nullptr;
    int steps = 0;
    double dt = 0;
    // On simulated ranks only.
    double cell_cost = 0;
    std::optional<Problem> zones; // in place of `problem`: as many zones as --zones says
};

// Parses the command line. Prints help or errors on rank 0 only. If it returns nothing, the program must exit with
// `status`.
std::optional<Options> parse_options(int argc, char **argv, int &status);

// Called before MPI_Init. If the variant needs an OpenMP setting that is not set, this sets the environment variable
// and executes this program again. Otherwise it returns at once.
void restart_with_openmp_settings(char **argv, const Options &options);

} // namespace bt_mz
