// SPDX-License-Identifier: BSD-3-Clause
// The command line of heat.
#pragma once

#include "run.hpp"

#include <optional>
#include <string>

namespace heat {

enum class When { automatic, always, never };

struct Options {
    std::string config;
    const Variant *variant = nullptr;
    int threads = 0; // 0: the cores of the node divided by its ranks
    std::optional<Size> size;
    std::optional<int> iterations, block;
    bool verify = false;
    std::string reference, json, start, field, timeline;
    int timeline_capacity = 1 << 17;
    When progress = When::automatic;
};

// Exit status of the program.
enum Exit { success = 0, failure = 1, usage = 2, field_differs = 3 };

// Parses the command line. Prints help or errors on rank 0 only. If it returns nothing, the program must exit with
// `status`.
std::optional<Options> parse_options(int argc, char **argv, int &status);

// Called before MPI_Init. OpenMP reads some settings only when it is loaded, so if the variant needs one that is not
// set, this function sets the environment variable and executes this program again. Otherwise it returns at once.
void restart_with_openmp_settings(char **argv, const Options &options);

} // namespace heat
