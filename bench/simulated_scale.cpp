// SPDX-License-Identifier: BSD-3-Clause
// Applications on simulated ranks (SimGrid's SMPI): simulated time of the variant with callbacks against the variant of
// MPI only. scripts/simulate.py runs the programs of the preset smpi; nothing is measured here, the costs of
// computation are given, so all figures repeat exactly. docs/guide/simulation.md says what is simulated and what is
// not.
#include "judges/simulated_scale.hpp"
#include "measure/benchmark.hpp"
#include "measure/process.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using list = std::vector<std::string>;
using namespace measure::simulated_runs;

const char *const latencies[] = {"2us", "20us"};
const char *const slow_ranks = "2@5,20"; // two times slower
const char *const bt_cell_cost = "270ns";
constexpr double bt_cell_seconds = 270e-9;
constexpr int bt_steps = 10;
const char *const heat_cell_cost = "1.1ns";
constexpr double heat_rank_seconds =
    1.1e-9 * 8 * 64 * 128 * 20; // of plates, rows, columns and iterations; see heat_size()

struct situation {
    const char *name;
    bool uneven;
    double mean_cost; // of all cells of heat, in that of a balanced one; 0: noise changes what cells cost
    list cluster;     // options of simulate.py
    list program;     // of the program, for all variants
    list data;        // of the program, for the variants whose order follows the messages
};

struct application {
    const char *name, *program, *cell_cost;
    const char *by_hand;  // plain MPI whose order follows the messages
    const char *forkjoin; // exchange everything, wait, compute everything; null if `mpi` is that
    std::vector<situation> situations;
    list (*size)(int ranks, int plates);
};

// 64 rows for each rank, and two blocks a row.
list heat_size(int ranks, int plates) {
    return {"--size", std::to_string(64 * ranks) + "x128", "--plates", std::to_string(plates), "--iterations", "20"};
}

// Four zones for each rank, 12 x 12 x 6 cells on average.
list bt_size(int ranks, int) {
    const char *zones = ranks == 64 ? "16x16" : ranks == 256 ? "32x32" : "64x64";
    return {"S", "--zones", zones, "--steps", std::to_string(bt_steps)};
}

std::vector<bt_mz::ZoneShape> zones_of(int ranks) {
    bt_mz::Problem p = *bt_mz::find_problem("S");
    const int zones = ranks == 64 ? 16 : ranks == 256 ? 32 : 64;
    p.cells_x = p.cells_x / p.zones_x * zones, p.cells_y = p.cells_y / p.zones_y * zones;
    p.zones_x = p.zones_y = zones;
    return bt_mz::make_zones(p);
}

const std::vector<application> &applications() {
    static const std::vector<application> all{
        {"heat, 8 plates",
         "heat_plates",
         heat_cell_cost,
         "waitany",
         "forkjoin",
         {{"balanced", false, 1, {}, {}, {}},
          {"upper eighth 5 times dearer", true, 1.5, {}, {"--imbalance", "5@area:0,0,1,0.125"}, {"--spread"}},
          {"noise", true, 0, {"--noise", "0.3", "--noise-interval", "50us"}, {}, {"--spread"}}},
         heat_size},
        {"BT-MZ exchange",
         "bt_mz",
         bt_cell_cost,
         "waitsome",
         nullptr,
         {{"balanced", false, 1, {}, {}, {}},
          {"two ranks 2 times slower", true, 1, {"--imbalance", slow_ranks}, {}, {}},
          {"noise", true, 0, {"--noise", "0.3", "--noise-interval", "250us"}, {}, {}}},
         bt_size}};
    return all;
}

// Runs the script, and keeps the longest time that a run of 1,024 ranks took on this machine.
struct simulator {
    fs::path script, programs;
    double longest = 0;
    std::string longest_run;

    // Simulated seconds of one run.
    double run(const application &app, const situation &in, int ranks, const char *latency, const std::string &variant,
               const list &more, int plates = 8) {
        const fs::path file = fs::temp_directory_path() / ("thence-simulated-" + std::to_string(::getpid()) + ".json");
        list command{"python3",       "-B",
                     script.string(), (programs / app.program).string(),
                     "--ranks",       std::to_string(ranks),
                     "--latency",     latency,
                     "--variants",    variant,
                     "--cell-cost",   app.cell_cost,
                     "--json",        file.string(),
                     "--timeout",     "900"};
        command.insert(command.end(), in.cluster.begin(), in.cluster.end());
        command.emplace_back("--");
        for (const list &part : {app.size(ranks, plates), in.program, more}) {
            command.insert(command.end(), part.begin(), part.end());
        }
        const auto begin = std::chrono::steady_clock::now();
        const measure::outcome done = measure::run_program(command, {}, std::chrono::seconds(1000));
        const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
        if (done.exit_code != 0) {
            throw std::runtime_error(std::string(app.program) + " on " + std::to_string(ranks) +
                                     " simulated ranks: " + done.errors);
        }
        if (ranks == 1024 && wall.count() > longest) {
            longest = wall.count();
            longest_run = std::string(app.name) + ", " + in.name + ", " + latency + ", " + variant;
        }
        std::ifstream in_file(file);
        const double seconds = nlohmann::json::parse(in_file).at("runs").at(0).at("time_s").get<double>();
        fs::remove(file);
        return seconds;
    }
};

std::string text(const char *format, auto... values) {
    char buffer[300] = "";
    std::snprintf(buffer, sizeof buffer, format, values...);
    return buffer;
}

// What no order of work can be faster than; nothing if the benchmark knows no such time. Noise makes a rank slower and
// faster by turns, so that its computation has no time that is known before.
std::optional<shortest> shortest_run(simulator &simulate, const application &app, const situation &in, int ranks,
                                     const char *latency) {
    if (std::string(app.program) == "heat_plates") {
        const double alone = simulate.run(app, in, ranks, latency, "callbacks", {}, 1);
        const double computed = heat_rank_seconds * in.mean_cost;
        return longer({text("one plate alone takes %.3f ms, since its wave passes all ranks", 1e3 * alone), alone},
                      {text("a rank computes %.3f ms on average, whatever the order", 1e3 * computed), computed});
    }
    if (in.mean_cost == 0) {
        return std::nullopt;
    }
    const bool slow = in.cluster.size() > 1 && in.cluster[1] == slow_ranks;
    const double seconds = longest_computation(zones_of(ranks), ranks, bt_cell_seconds, bt_steps,
                                               [&](int rank) { return slow && (rank == 5 || rank == 20) ? 2.0 : 1.0; });
    return shortest{text("the rank that computes longest needs %.3f ms, whatever the order", 1e3 * seconds), seconds};
}

void compare(measure::session &session, simulator &simulate, const application &app, const situation &in, int ranks,
             const char *latency) {
    const double mpi = simulate.run(app, in, ranks, latency, "mpi", {});
    const double ours = simulate.run(app, in, ranks, latency, "callbacks", in.data);
    const double by_hand = simulate.run(app, in, ranks, latency, app.by_hand, in.data);
    measure::figure figure =
        compared(std::string(app.name) + ", " + in.name + ", " + std::to_string(ranks) + " ranks, " + latency,
                 in.uneven, ours, mpi);
    figure.note = text("%s, MPI by hand in the order of the messages: %.3f ms", app.by_hand, 1e3 * by_hand);
    if (app.forkjoin != nullptr) {
        figure.note +=
            text("; %s: %.3f ms", app.forkjoin, 1e3 * simulate.run(app, in, ranks, latency, app.forkjoin, {}));
    } else {
        figure.note += "; MPI only is what fork-join does, on one thread";
    }
    if (!in.data.empty()) {
        figure.note += text("; callbacks and %s have the plates placed by %s, MPI only has all begin on rank 0",
                            app.by_hand, in.data[0].c_str());
    }
    if (!figure.passed()) {
        add_limit(figure, shortest_run(simulate, app, in, ranks, latency), mpi);
    }
    session.add(std::move(figure));
}

void judge(measure::session &session) {
    const char *folder = std::getenv("THENCE_SMPI_BUILD");
    const fs::path programs = fs::path(folder != nullptr ? folder : THENCE_BENCH_SMPI_BUILD) / "bin";
    const fs::path script = THENCE_BENCH_SIMULATE;
    for (const application &app : applications()) {
        if (!fs::exists(programs / app.program) || !fs::exists(script)) {
            return session.skip("no " + (programs / app.program).string() +
                                "; it needs SimGrid (Debian: libsimgrid-dev) and: cmake --preset smpi && cmake --build "
                                "--preset smpi; THENCE_SMPI_BUILD names another build folder");
        }
    }
    simulator simulate{script, programs, 0, {}};
    for (const application &app : applications()) {
        for (const int ranks : {64, 256, 1024}) {
            if (session.quick() && ranks > 64) {
                continue;
            }
            for (const situation &in : app.situations) {
                for (const char *latency : latencies) {
                    compare(session, simulate, app, in, ranks, latency);
                }
            }
        }
    }
    if (simulate.longest > 0) {
        session.add(wall_time(simulate.longest, simulate.longest_run));
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "simulated_scale",
                          .about = "several plates of heat and the exchange of BT-MZ on 64 to 1,024 simulated ranks: "
                                   "callbacks compared with MPI only, simulated time",
                          .bars =
                              "callbacks at least 1.0 times the speed, 1.15 with imbalance or noise; a run of 1,024 "
                              "ranks takes at most 300 s",
                          .pieces = {},
                          .judge = judge});
}
