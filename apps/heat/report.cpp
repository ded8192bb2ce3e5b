// SPDX-License-Identifier: BSD-3-Clause
// Prints one run as a line of a table and as JSON.
#include "outcome.hpp"

#include <cstdio>

namespace heat {
namespace {

double updates_per_second(const Config &c, double time) {
    return static_cast<double>(c.rows) * c.cols * c.iterations / time;
}

const char *verdict_name(Comparison::Verdict v) {
    return v == Comparison::identical ? "identical" : v == Comparison::differs ? "DIFFERS" : "unchecked";
}

} // namespace

void print_table(const Run &run, const Options &options, const Config &config, const Outcome &outcome) {
    const double time = outcome.measured.time;
    const apps::Shares s = outcome.measured.shares();
    char speedup[32] = "-";
    if (outcome.comparison.serial_time > 0) {
        std::snprintf(speedup, sizeof speedup, "%.2f", outcome.comparison.serial_time / time);
    }
    std::printf("%-14s %15s %9s %11s %9s %9s %7s %7s %7s  %s\n", "variant", "ranks x threads",
                apps::simulated ? "simul. s" : "time s", "Mupdates/s", "vs serial", "compute %", "MPI %", "poll %",
                "idle %", "field");
    std::printf("%-14s %11d x %-3d %7.3f %11.1f %9s %9.1f %7.1f %7.1f %7.1f  %s\n", options.chosen->name, run.ranks,
                run.threads, time, updates_per_second(config, time) * 1e-6, speedup, 100 * s.compute, 100 * s.mpi,
                100 * s.poll, 100 * s.idle, verdict_name(outcome.comparison.verdict));
    if (!outcome.comparison.text.empty()) {
        std::printf("field: %s\n", outcome.comparison.text.c_str());
    }
    apps::print_notes(outcome.measured, !options.timeline.empty());
}

void write_json(const Run &run, const Options &options, const Config &config, const Outcome &outcome) {
    const double time = outcome.measured.time;
    apps::Json json{{"variant", options.chosen->name},
                    {"ranks", run.ranks},
                    {"threads", run.threads},
                    {"config", options.config},
                    {"rows", config.rows},
                    {"cols", config.cols},
                    {"iterations", config.iterations},
                    {"block", config.block},
                    {"mpi", apps::mpi_name()},
                    {"simulated", apps::simulated},
                    {"time_s", time},
                    {"updates_per_s", updates_per_second(config, time)},
                    {"cell_ns", 1e9 / updates_per_second(config, time) * run.ranks * run.threads},
                    {"share_of_thread_time", apps::times_json(outcome.measured)},
                    {"ranks_detail", apps::ranks_json(outcome.measured)}};
    if (options.imbalance) {
        json["imbalance"] = options.imbalance->text;
    }
    if (const auto &c = outcome.measured.continuations) {
        json["thence"] = apps::continuations_json(*c);
    }
    json["field"] = {{"verdict", verdict_name(outcome.comparison.verdict)},
                     {"against", outcome.comparison.against},
                     {"text", outcome.comparison.text}};
    if (outcome.comparison.serial_time > 0) {
        json["serial_time_s"] = outcome.comparison.serial_time;
    }
    apps::write_json_file(options.json, json);
}

} // namespace heat
