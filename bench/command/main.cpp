// SPDX-License-Identifier: BSD-3-Clause
// The program thence-bench, which `thence bench` executes: it measures the costs of the library.
#include "command/bench.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

int main(int argc, char **argv) {
    command::bench_options chosen;
    CLI::App app("measure the costs of the library, compared with what a program does without it", "thence bench");
    app.footer("Exit status: 0 every bar is met, 1 a bar is missed, 2 wrong usage, 3 something could not be measured.");
    app.add_option("NAME", chosen.names, "benchmarks to run");
    app.add_flag("--all", chosen.all, "run every benchmark");
    app.add_flag("--list", chosen.list, "list the benchmarks with their comparisons and bars");
    app.add_flag("--quick", chosen.quick, "fewer repetitions: minutes instead of a quarter of an hour");
    app.add_option("--json", chosen.json, "write the figures to this file");
    app.add_option("--plot", chosen.plot,
                   "draw the figures into this folder (matplotlib); without --json they are written there too");
    app.add_option("--mpiexec", chosen.mpiexec, "launcher of the benchmarks with two ranks, and its arguments")
        ->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    try {
        return command::bench(chosen);
    } catch (const std::exception &error) {
        std::cerr << "thence bench: " << error.what() << '\n';
        return 3;
    }
}
