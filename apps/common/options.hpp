// SPDX-License-Identifier: BSD-3-Clause
// The options that every application has. The command line is parsed before MPI_Init, since the thread level depends on
// the variant. The rank is read from the launcher's environment variables.
#pragma once

#include "imbalance.hpp"
#include "progress_bar.hpp"

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace apps {

// Exit status of every application.
enum Exit { success = 0, failure = 1, usage = 2, wrong_result = 3 };

struct CommonOptions {
    std::string variant = "serial";
    int threads = 0; // 0: the cores of the node divided by its ranks
    std::string json, timeline;
    int timeline_capacity = 1 << 17;
    When progress = When::automatic;
    std::optional<Imbalance> imbalance;
    std::string imbalance_text, progress_text; // as written
};

// Adds --variant and --threads. `known`: whether this program has a variant. `name`: of the program, for errors.
void add_run_options(CLI::App &app, CommonOptions &options, const std::string &name,
                     const std::function<bool(const std::string &)> &known);
// Adds --imbalance (`parts`: see parse_imbalance()), --json, --timeline, --timeline-capacity and --progress.
void add_output_options(CLI::App &app, CommonOptions &options, const std::vector<std::string> &parts);

// Parses the command line; `check` is called after that and may throw CLI::ParseError. Prints help or errors on rank 0
// only. If it returns false, the program must exit with `status`.
bool parse(CLI::App &app, int argc, char **argv, const std::function<void()> &check, int &status);

// Called before MPI_Init. OpenMP reads some settings only when it is loaded, so this sets the environment variable and
// executes this program again, at most once: in the program that it has executed it only returns.
void restart_with(char **argv, const char *program, const char *variable, const char *value);

} // namespace apps
