// SPDX-License-Identifier: BSD-3-Clause
// heat_plates: reads the command line, runs one variant on all plates and reports. It needs no threads, so it also runs
// on simulated ranks.
#include "variants.hpp"

#include "common/application.hpp"
#include "common/simulated.hpp"

#include <array>
#include <cstdio>

namespace plates {
namespace {

// Not constexpr, since with some MPIs the thread levels are no constant expressions.
const std::array table{
    Variant{{"mpi", "tuned by hand: pieces of rows, nonblocking; the order of the plates is fixed", MPI_THREAD_SINGLE,
             false, false},
            solve_mpi},
    Variant{{"forkjoin", "whole rows are exchanged between two iterations, as fork-join does", MPI_THREAD_SINGLE, false,
             false},
            solve_forkjoin},
    Variant{{"waitany", "by hand: a plate goes on when its messages have arrived (MPI_Waitany)", MPI_THREAD_SINGLE,
             false, false},
            solve_waitany},
    Variant{{"callbacks", "a plate goes on when its messages have arrived (C API)", MPI_THREAD_SINGLE, false, true},
            solve_callbacks},
    Variant{{"coroutine", "the same, a coroutine for each plate (thence/mpi.hpp)", MPI_THREAD_SINGLE, false, true},
            solve_coroutine},
};

struct Options : apps::OptionsOf<Variant> {
    Settings settings;
    bool verify = false;
};

const apps::Description description{
    .name = "heat_plates",
    .about = "heat_plates: temperature of several independent plates by blocked Gauss-Seidel iterations, one thread\n"
             "per rank. All variants compute the same values, bit for bit.",
    .examples = "  mpirun -n 2 heat_plates --variant callbacks --verify\n"
                "  mpirun -n 4 heat_plates --variant coroutine --plates 8 --mirrored --json run.json\n"
                "  mpirun -n 2 heat_plates --variant callbacks --mirrored --timeline callbacks.json\n",
    .wrong = "a value is wrong",
    .timeline = !apps::simulated}; // the recorder reads the clock of the machine

bool parse_options(Options &o, int argc, char **argv, int &status) {
    o.variant = "mpi";
    heat::Config &config = o.settings.config;
    config.iterations = 10;
    config.block = 64;
    config.top = 100;
    config.left = 50;
    std::string size;
    const auto add = [&](CLI::App &app) {
        apps::add_variant_option(app, o, "How to wait", variants());
        app.add_option("-s,--size", size, "ROWSxCOLUMNS of each plate [512x512]");
        app.add_option("-b,--block", config.block, "Columns of a block [64]")->check(CLI::Range(1, 1 << 20));
        app.add_option("-i,--iterations", config.iterations, "Iterations [10]")->check(CLI::Range(1, 1 << 20));
        app.add_option("-n,--plates", o.settings.plates, "Independent plates [4]")->check(CLI::Range(1, 64));
        app.add_flag("--mirrored", o.settings.mirrored,
                     "Odd plates begin on the last rank, so that the ranks at both ends have work at the start");
        app.add_flag("--spread", o.settings.spread,
                     "Plates begin on ranks that are spread evenly, so that all ranks have work at the start");
        app.add_flag("--verify", o.verify, "Compare all values with those of a serial run, which every rank makes");
        if (apps::simulated) {
            app.add_option("--cell-cost", o.settings.cell_cost, "Simulated seconds for one cell")
                ->check(CLI::Range(0.0, 1.0))
                ->required();
        }
        apps::add_imbalance_option(app, o, {"rank", "area"});
    };
    const auto check = [&] {
        if (size.empty()) {
            return;
        }
        const auto parsed = heat::parse_size(size);
        if (!parsed) {
            throw CLI::ValidationError("--size",
                                       "'" + size + "' is not a size; write ROWSxCOLUMNS, for example 512x1024");
        }
        config.rows = parsed->rows, config.cols = parsed->cols;
    };
    return apps::parse_options(o, description, variants(), argc, argv, status, add, check);
}

// Checks the settings, and adds the imbalance. Throws InputError if there is no such rank, or a tag that is too large.
void apply(const Options &o, Settings &settings, int ranks, MPI_Comm comm) {
    const heat::Config &c = settings.config;
    heat::check_config(c, "command line");
    if (c.rows < ranks) {
        throw apps::InputError("--size: " + std::to_string(c.rows) + " rows are too few for " + std::to_string(ranks) +
                               " ranks");
    }
    const long blocks = (c.cols + c.block - 1L) / c.block;
    apps::check_tags(comm, 2L * settings.plates * blocks - 1, "so many blocks and plates; use a larger --block");
    settings.imbalance = o.imbalance;
}

// `wrong`: the first wrong value.
void report(const Options &o, const apps::Measured &measured, const std::string &wrong) {
    const char *verdict = !o.verify ? "unchecked" : wrong.empty() ? "identical" : "WRONG";
    const heat::Config &c = o.settings.config;
    const double cells = static_cast<double>(c.rows) * c.cols * c.iterations * o.settings.plates;
    std::printf("%-10s %6s %7s %12s %13s  %s\n", "variant", "ranks", "plates",
                apps::simulated ? "simulated s" : "time s", "Mupdates/s", "values");
    std::printf("%-10s %6d %7d %12.6f %13.1f  %s\n", o.chosen->name, measured.ranks, o.settings.plates, measured.time,
                cells / measured.time * 1e-6, verdict);
    apps::print_notes(measured, !o.timeline.empty());
    if (o.json.empty()) {
        return;
    }
    apps::Json json{{"application", "heat_plates"},
                    {"variant", o.chosen->name},
                    {"ranks", measured.ranks},
                    {"plates", o.settings.plates},
                    {"mirrored", o.settings.mirrored},
                    {"spread", o.settings.spread},
                    {"rows", c.rows},
                    {"cols", c.cols},
                    {"block", c.block},
                    {"iterations", c.iterations},
                    {"mpi", apps::mpi_name()},
                    {"simulated", apps::simulated},
                    {"time_s", measured.time},
                    {"cell_ns", measured.time / cells * 1e9 * measured.ranks},
                    {"values", wrong.empty() ? verdict : wrong}};
    if (apps::simulated) {
        json["cell_cost_s"] = o.settings.cell_cost;
    }
    if (o.imbalance) {
        json["imbalance"] = o.imbalance->text;
    }
    if (measured.continuations) {
        json["thence"] = apps::continuations_json(*measured.continuations);
    }
    apps::write_json_file(o.json, json);
}

int run_variant(const Options &o, MPI_Comm comm) {
    apps::TimedRun timed("heat_plates", *o.chosen, o, comm);
    const int rank = timed.rank, ranks = timed.ranks;
    Settings settings = o.settings;
    apply(o, settings, ranks, comm);
    apps::ProgressBar bar(apps::draws_bar(o.progress, rank), o.chosen->name, settings.config.iterations);
    Run run{comm, {}, settings.config.iterations, bar, o.timeline.empty() ? nullptr : &timed.recorder};
    for (int p = 0; p < settings.plates; ++p) {
        run.plates.push_back(std::make_unique<Plate>(settings, p, rank, ranks));
    }

    timed.solve(*o.chosen, run);
    run.end_messages();
    timed.write_timeline(settings.config.iterations, "below", "plate");

    std::string wrong_here;
    for (const auto &plate : run.plates) {
        if (o.verify && wrong_here.empty()) {
            wrong_here = plate->check();
        }
    }
    const std::string wrong = apps::first_wrong("heat_plates", wrong_here, comm);
    if (rank == 0) {
        report(o, timed.measured, wrong);
    }
    return wrong.empty() ? apps::success : apps::wrong_result;
}

} // namespace

std::span<const Variant> variants() {
    return table;
}

} // namespace plates

int main(int argc, char **argv) {
    return apps::run_program<plates::Options>(argc, argv, plates::description.name, "mpi", plates::parse_options,
                                              plates::run_variant);
}
