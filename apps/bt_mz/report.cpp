// SPDX-License-Identifier: BSD-3-Clause
// Gathers what the zones say, and prints one run as a line of a table and as JSON.
#include "outcome.hpp"

#include "common/simulated.hpp"

#include <algorithm>
#include <cstdio>

namespace bt_mz {
namespace {

// Cells of the rank that has most, relative to the mean of all ranks.
double imbalance(const Run &run) {
    std::vector<long> cells(static_cast<std::size_t>(run.ranks), 0);
    long all = 0;
    for (const ZoneShape &s : run.shapes) {
        cells[static_cast<std::size_t>(run.owner[static_cast<std::size_t>(s.number)])] += s.cells();
        all += s.cells();
    }
    return static_cast<double>(*std::max_element(cells.begin(), cells.end())) * run.ranks / static_cast<double>(all);
}

} // namespace

std::vector<ZoneResult> gather_zones(const Run &run) {
    std::vector<ZoneResult> mine;
    for (auto &z : run.zones) {
        ZoneResult r{};
        r.number = z->shape().number;
        r.compute = static_cast<double>(z->compute.load()) * 1e-9;
        Norms error{}, residual{};
        if (z->zone.has_values()) {
            error = z->zone.error_norms(), residual = z->zone.residual_norms();
        }
        std::copy(error.begin(), error.end(), r.error);
        std::copy(residual.begin(), residual.end(), r.residual);
        mine.push_back(r);
    }
    constexpr int doubles = sizeof(ZoneResult) / sizeof(double);
    int count = doubles * static_cast<int>(mine.size());
    std::vector<int> counts(run.rank == 0 ? static_cast<std::size_t>(run.ranks) : 0), begins(counts.size(), 0);
    MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, run.comm);
    for (std::size_t r = 1; r < counts.size(); ++r) {
        begins[r] = begins[r - 1] + counts[r - 1];
    }
    std::vector<ZoneResult> all(run.rank == 0 ? run.shapes.size() : 0);
    MPI_Gatherv(mine.data(), count, MPI_DOUBLE, all.data(), counts.data(), begins.data(), MPI_DOUBLE, 0, run.comm);
    std::sort(all.begin(), all.end(), [](const ZoneResult &a, const ZoneResult &b) { return a.number < b.number; });
    return all;
}

double operations(const std::vector<ZoneShape> &shapes, int steps) {
    double sum = 0;
    for (const ZoneShape &s : shapes) {
        const double nx = s.nx, ny = s.ny, nz = s.nz;
        const double surface = (nx * ny + nx * nz + ny * nz) / 3, mean = (nx + ny + nz) / 3;
        sum += 3478.8 * nx * ny * nz - 17655.7 * surface + 28023.7 * mean;
    }
    return 1e-6 * steps * sum;
}

void print_table(const Run &run, const Options &options, const Outcome &outcome) {
    const double time = outcome.measured.time;
    apps::Shares s = outcome.measured.shares();
    if (apps::simulated) { // the recorder has the machine's time, which says nothing here
        s = {};
    }
    std::printf("%-5s %-10s %15s %5s %9s %9s %9s %9s %7s %7s  %s\n", "class", "variant", "ranks x threads", "zones",
                "time s", "Mop/s", "load max", "compute %", "MPI %", "idle %", "result");
    std::printf("%-5c %-10s %11d x %-3d %5d %9.3f %9.1f %9.2f %9.1f %7.1f %7.1f  %s\n", run.problem.name,
                options.chosen->name, run.ranks, run.threads, run.problem.zones(), time,
                operations(run.shapes, run.steps) / time, imbalance(run), 100 * s.compute, 100 * s.mpi, 100 * s.idle,
                verdict_name(outcome.verification.verdict));
    std::printf("verification: %s\n", outcome.verification.text.c_str());
    apps::print_notes(outcome.measured, !options.timeline.empty());
}

void write_json(const Run &run, const Options &options, const Outcome &outcome) {
    const double time = outcome.measured.time;
    apps::Json zones = apps::Json::array();
    apps::Json norms = apps::Json::array();
    for (const ZoneShape &s : run.shapes) {
        const auto number = static_cast<std::size_t>(s.number);
        zones.push_back({{"column", s.column},
                         {"row", s.row},
                         {"cells", {s.nx, s.ny, s.nz}},
                         {"rank", run.owner[number]},
                         {"compute_s", outcome.zones[number].compute}});
    }
    for (const ComparedNorm &n : outcome.verification.norms) {
        norms.push_back(
            {{"name", n.name}, {"value", n.value}, {"reference", n.reference}, {"relative_difference", n.difference}});
    }
    apps::Json json{{"application", "bt_mz"},
                    {"class", std::string(1, run.problem.name)},
                    {"variant", options.chosen->name},
                    {"ranks", run.ranks},
                    {"threads", run.threads},
                    {"steps", run.steps},
                    {"dt", options.dt},
                    {"mpi", apps::mpi_name()},
                    {"time_s", time},
                    {"mop_per_s", operations(run.shapes, run.steps) / time},
                    {"load_max_over_mean", imbalance(run)}};
    long cells = 0;
    for (const ZoneShape &s : run.shapes) {
        cells += s.cells();
    }
    // Of one thread, for a step of one cell: what --cell-cost takes on simulated ranks.
    json["cell_ns"] = time * 1e9 * run.ranks * run.threads / (static_cast<double>(cells) * run.steps);
    if (apps::simulated) { // what the recorder has is the machine's time
        json["simulated"] = true;
        json["cell_cost_s"] = run.cell_cost;
        json["zones"] = {run.problem.zones_x, run.problem.zones_y};
    } else {
        json["share_of_thread_time"] = apps::times_json(outcome.measured);
        json["ranks_detail"] = apps::ranks_json(outcome.measured);
        json["zones"] = zones;
    }
    if (options.imbalance) {
        json["imbalance"] = options.imbalance->text;
    }
    if (const auto &c = outcome.measured.continuations) {
        json["thence"] = apps::continuations_json(*c);
    }
    json["verification"] = {{"verdict", verdict_name(outcome.verification.verdict)},
                            {"text", outcome.verification.text},
                            {"tolerance", tolerance},
                            {"norms", norms}};
    apps::write_json_file(options.json, json);
}

} // namespace bt_mz
