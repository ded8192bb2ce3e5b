// SPDX-License-Identifier: BSD-3-Clause
// The options that every application has. The command line is parsed before MPI_Init, since the thread level depends on
// the variant. The rank is read from the launcher's environment variables.
#pragma once

#include "imbalance.hpp"
#include "progress_bar.hpp"

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <span>
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

// Adds --variant, whose default is the present value. `app` has the name of the program. `known`: the names of its
// variants. `what`: what a variant differs in, for --help.
void add_variant_option(CLI::App &app, CommonOptions &options, const std::string &what, std::vector<std::string> known);
template <class Variant>
void add_variant_option(CLI::App &app, CommonOptions &options, const std::string &what, std::span<const Variant> all) {
    std::vector<std::string> names;
    for (const Variant &v : all) {
        names.emplace_back(v.name);
    }
    add_variant_option(app, options, what, std::move(names));
}
void add_threads_option(CLI::App &app, CommonOptions &options);
// `parts`: see parse_imbalance().
void add_imbalance_option(CLI::App &app, CommonOptions &options, const std::vector<std::string> &parts);
void add_json_option(CLI::App &app, CommonOptions &options);
// Adds --timeline and --timeline-capacity.
void add_timeline_options(CLI::App &app, CommonOptions &options);
void add_progress_option(CLI::App &app, CommonOptions &options);

// Parses the command line; `check` is called after that and may throw CLI::ParseError. Prints help or errors on rank 0
// only. If it returns false, the program must exit with `status`.
bool parse(CLI::App &app, int argc, char **argv, const std::function<void()> &check, int &status);

// Called before MPI_Init. OpenMP reads some settings only when it is loaded, so this sets the environment variable and
// executes this program again, at most once: in the program that it has executed it only returns.
void restart_with(char **argv, const char *program, const char *variable, const char *value);

} // namespace apps
