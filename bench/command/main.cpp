// SPDX-License-Identifier: BSD-3-Clause
// The command `thence`: what the library runs on (`info`), and what it costs (`bench`).
#include "command/bench.hpp"
#include "command/info.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

int main(int argc, char **argv) {
    CLI::App app("Thence: completion callbacks on any stock MPI");
    app.set_version_flag("--version", "thence " THENCE_VERSION_TEXT);
    app.require_subcommand(1);

    command::info_options info;
    CLI::App *info_command =
        app.add_subcommand("info", "say which MPI, engine, hook and settings are in force, and why");
    info_command->add_flag("--json", info.json, "print JSON");
    info_command->add_option("--level", info.level, "thread level to ask MPI for")
        ->check(CLI::IsMember({"single", "funneled", "serialized", "multiple"}))
        ->capture_default_str();

    command::bench_options bench;
    CLI::App *bench_command = app.add_subcommand("bench", "measure what the library costs, against what it replaces");
    bench_command->footer(
        "Exit status: 0 every bar is met, 1 one is not, 2 wrong usage, 3 something could not be measured.");
    bench_command->add_option("NAME", bench.names, "benchmarks to run");
    bench_command->add_flag("--all", bench.all, "run every benchmark");
    bench_command->add_flag("--list", bench.list, "list the benchmarks with what they compare and their bars");
    bench_command->add_flag("--quick", bench.quick, "fewer repetitions: minutes instead of a quarter of an hour");
    bench_command->add_option("--json", bench.json, "write the figures to this file");
    bench_command->add_option(
        "--plot", bench.plot,
        "draw the figures into this folder (matplotlib); without --json they are written there too");
    bench_command
        ->add_option("--mpiexec", bench.mpiexec, "launcher of the benchmarks with two ranks, and its arguments")
        ->capture_default_str();

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        const int status = app.exit(error);
        return status == 0 ? 0 : 2;
    }
    try {
        return info_command->parsed() ? command::info(info) : command::bench(bench);
    } catch (const std::exception &error) {
        std::cerr << "thence: " << error.what() << '\n';
        return 3;
    }
}
