// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace apps {
namespace {

// Whether this process is not rank 0 of its program.
bool silent() {
    for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
        if (const char *rank = std::getenv(name)) {
            return std::string_view(rank) != "0";
        }
    }
    return false;
}

std::string imbalance_help(const std::vector<std::string> &parts) {
    std::string text = "Make a part of the work more expensive by a factor: FACTOR@PART, where PART is ";
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::string form =
            parts[i] == "area" ? "area:X0,Y0,X1,Y1 (fractions of the field)" : parts[i] + ":N[,N...]";
        text += (i == 0 ? "" : " or ") + form;
    }
    return text;
}

} // namespace

void add_variant_option(CLI::App &app, CommonOptions &options, const std::string &what,
                        std::vector<std::string> known) {
    app.add_option("-v,--variant", options.variant, what + ", see below [" + options.variant + "]")
        ->check(CLI::Validator(
            [names = std::move(known), program = app.get_name()](std::string &variant) {
                return std::find(names.begin(), names.end(), variant) != names.end()
                           ? ""
                           : "'" + variant + "' is unknown, or not built into this program; see " + program + " --help";
            },
            ""));
}

void add_threads_option(CLI::App &app, CommonOptions &options) {
    app.add_option("-t,--threads", options.threads, "Threads per rank [cores of the node / ranks on it]")
        ->check(CLI::Range(1, 512));
}

void add_imbalance_option(CLI::App &app, CommonOptions &options, const std::vector<std::string> &parts) {
    // Validators store what they parse.
    app.add_option("--imbalance", options.imbalance_text, imbalance_help(parts))
        ->check(CLI::Validator(
            [&options, parts](const std::string &text) {
                try {
                    options.imbalance = parse_imbalance(text, parts);
                    return std::string();
                } catch (const std::invalid_argument &e) {
                    return std::string(e.what());
                }
            },
            ""));
}

void add_json_option(CLI::App &app, CommonOptions &options) {
    app.add_option("--json", options.json, "Write settings, times and the result of the comparison");
}

void add_timeline_options(CLI::App &app, CommonOptions &options) {
    app.add_option("--timeline", options.timeline,
                   "Record the activity of each thread and each message, and write them as JSON");
    app.add_option("--timeline-capacity", options.timeline_capacity,
                   "Largest number of intervals and messages recorded per thread [131072]")
        ->check(CLI::Range(1, 1 << 26));
}

void add_progress_option(CLI::App &app, CommonOptions &options) {
    app.add_option("--progress", options.progress_text, "Progress bar: auto (on a terminal), always, never [auto]")
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->check(CLI::Validator(
            [&options](const std::string &when) {
                options.progress = when == "always" ? When::always : when == "never" ? When::never : When::automatic;
                return std::string();
            },
            ""));
}

bool parse(CLI::App &app, int argc, char **argv, const std::function<void()> &check, int &status) {
    try {
        app.parse(argc, argv);
        check();
        return true;
    } catch (const CLI::ParseError &e) {
        status = e.get_exit_code() == 0 ? success : usage; // help is no error
        if (!silent()) {
            app.exit(e);
        }
        return false;
    }
}

void restart_with(char **argv, const char *program, const char *variable, const char *value) {
    constexpr const char *mark = "APPS_RESTARTED";
    if (std::getenv(mark)) {
        return; // the runtime ignores the variable: continue without it
    }
    setenv(variable, value, 1);
    setenv(mark, "1", 1);
    execv("/proc/self/exe", argv);
    std::fprintf(stderr, "%s: cannot restart with %s=%s; set it yourself: ", program, variable, value);
    std::perror(nullptr);
    std::exit(failure);
}

} // namespace apps
