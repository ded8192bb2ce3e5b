// SPDX-License-Identifier: BSD-3-Clause
// The command line of amr: the options of all applications and its own.
#pragma once

#include "run.hpp"

#include "common/options.hpp"

#include <optional>
#include <string>

namespace amr {

struct Options : apps::CommonOptions {
    Settings settings;
    const Variant *chosen = nullptr;
    bool verify = false;
    std::string mesh; // file
};

// Parses the command line. Prints help or errors on rank 0 only. If it returns nothing, the program must exit with
// `status`.
std::optional<Options> parse_options(int argc, char **argv, int &status);

} // namespace amr
