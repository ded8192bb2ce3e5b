// SPDX-License-Identifier: BSD-3-Clause
// The command `thence`: parses the command line and runs the sub-command that it names.
#include "subcommands.hpp"

#include <algorithm>
#include <iostream>
#include <string_view>

int main(int argc, char **argv) {
    CLI::App app("Thence gives any stock MPI completion callbacks. This command says what the library runs on here.",
                 "thence");
    app.set_version_flag("--version", "thence " THENCE_VERSION_TEXT);
    app.require_subcommand(1);
    app.footer("`thence COMMAND --help` lists the options of one command; `man thence` describes all of them.\n"
               "Exit status: 0 done, 2 wrong usage, 3 the command failed.");
    // CLI11 would take what is behind `--` as words of `thence` itself.
    char **end = argv + argc;
    char **dashes = argc > 1 && std::string_view(argv[1]) == "run" ? std::find(argv, end, std::string_view("--")) : end;
    int status = command::done;
    command::add_info(app, status);
    command::add_run(app, status, {dashes, end});
    command::add_trace(app, status);
    command::add_bench(app, status);
    try {
        app.parse(static_cast<int>(dashes - argv), argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? command::done : command::wrong_usage;
    } catch (const std::exception &error) {
        std::cerr << "thence: " << error.what() << '\n';
        return command::failed;
    }
    return status;
}
