// SPDX-License-Identifier: BSD-3-Clause
// The command line of heat: the options of all applications and its own.
#pragma once

#include "run.hpp"

#include "common/application.hpp"

#include <optional>
#include <string>

namespace heat {

struct Options : apps::OptionsOf<Variant> {
    std::string config;
    std::optional<Size> size;
    std::optional<int> iterations, block;
    double cell_cost = 0; // simulated seconds for one cell
    bool verify = false;
    std::string reference, start, field;
};

extern const apps::Description description;

// Prints help or errors on rank 0 only. If it returns false, the program must exit with `status`.
bool parse_options(Options &options, int argc, char **argv, int &status);

// Called before MPI_Init. If the variant needs an OpenMP setting that is not set, this sets the environment variable
// and executes this program again. Otherwise it returns at once.
void restart_with_openmp_settings(char **argv, const Options &options);

} // namespace heat
