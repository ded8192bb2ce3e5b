// SPDX-License-Identifier: BSD-3-Clause
// Prints one run as a line of a table and as JSON. The figure of merit is the number of updates in a second, of one
// variable of one cell each; NR is the same without the time of refinements.
#include "outcome.hpp"

#include <cstdio>

namespace amr {
namespace {

const char *verdict(const Options &o, const Outcome &r) {
    return !o.verify ? "unchecked" : r.wrong.empty() ? "identical" : "DIFFERS";
}

} // namespace

void print_table(const Options &options, const Outcome &r) {
    const double time = r.measured.time;
    const apps::Shares s = r.measured.shares();
    std::printf("%-14s %15s %9s %11s %11s %8s %9s %7s %7s %7s  %s\n", "variant", "ranks x threads",
                apps::simulated ? "simul. s" : "time s", "Mupdates/s", "NR", "refine %", "compute %", "MPI %", "poll %",
                "idle %", "cells");
    std::printf("%-14s %11d x %-3d %7.3f %11.1f %11.1f %8.1f %9.1f %7.1f %7.1f %7.1f  %s\n", options.chosen->name,
                r.measured.ranks, r.measured.threads, time, r.updates / time * 1e-6,
                r.updates / (time - r.refine_time) * 1e-6, 100 * r.refine_time / time, 100 * s.compute, 100 * s.mpi,
                100 * s.poll, 100 * s.idle, verdict(options, r));
    std::printf("mesh: %ld blocks at the end, %ld moved between ranks\n", r.blocks, r.moved);
    apps::print_notes(r.measured, !options.timeline.empty());
}

void write_json(const Options &options, const Outcome &r) {
    const Settings &s = options.settings;
    const double time = r.measured.time, computing = time - r.refine_time;
    apps::Json json{{"variant", options.chosen->name},
                    {"ranks", r.measured.ranks},
                    {"threads", r.measured.threads},
                    {"roots", s.roots},
                    {"levels", s.levels},
                    {"block", s.block},
                    {"variables", s.variables},
                    {"steps", s.steps},
                    {"stages", s.stages},
                    {"refine_every", s.refine_every},
                    {"faces", s.faces},
                    {"mpi", apps::mpi_name()},
                    {"simulated", apps::simulated},
                    {"time_s", time},
                    {"refine_s", r.refine_time},
                    {"updates_per_s", r.updates / time},
                    {"updates_per_s_without_refinement", r.updates / computing},
                    {"cell_ns", 1e9 * computing * r.measured.ranks * r.measured.threads / r.updates},
                    {"blocks", r.blocks},
                    {"moved_blocks", r.moved},
                    {"share_of_thread_time", apps::times_json(r.measured)},
                    {"ranks_detail", apps::ranks_json(r.measured)},
                    {"cells", r.wrong.empty() ? verdict(options, r) : r.wrong.c_str()}};
    if (options.imbalance) {
        json["imbalance"] = options.imbalance->text;
    }
    if (r.measured.continuations) {
        json["thence"] = apps::continuations_json(*r.measured.continuations);
    }
    if (r.serial_time > 0) {
        json["serial_time_s"] = r.serial_time;
    }
    apps::write_json_file(options.json, json);
}

} // namespace amr
