// SPDX-License-Identifier: BSD-3-Clause
// wavefront: reads the command line, runs one variant on all grids, checks every value and reports.
#include "variants.hpp"

#include "common/application.hpp"
#include "common/simulated.hpp"

#include <array>
#include <cstdio>
#include <cstring>

namespace wavefront {
namespace {

// Not constexpr, since with some MPIs the thread levels are no constant expressions.
const std::array table{
    Variant{{"mpi", "MPI_Recv, compute, MPI_Send; in each iteration one grid after the other", MPI_THREAD_SINGLE, false,
             false},
            solve_mpi},
    Variant{{"waitany", "a receive pending for each grid, MPI_Waitany", MPI_THREAD_SINGLE, false, false},
            solve_waitany},
    Variant{{"callbacks", "the continuation of a receive computes, sends and receives again (C API)", MPI_THREAD_SINGLE,
             false, true},
            solve_callbacks},
    Variant{{"coroutine", "a coroutine for each grid (thence/mpi.hpp)", MPI_THREAD_SINGLE, false, true},
            solve_coroutine},
};

struct Options : apps::OptionsOf<Variant> {
    Settings settings;
};

const apps::Description description{
    .name = "wavefront",
    .about = "wavefront: dependent chains of small messages. Lines of a grid move through the ranks as a pipeline, as\n"
             "in the kernel p2p of the Parallel Research Kernels. Every rank checks all of its values.",
    .examples = "  mpirun -n 2 wavefront --variant callbacks\n"
                "  mpirun -n 4 wavefront --variant coroutine --grid 2000x1000 --lines 8 --json run.json\n"
                "  mpirun -n 4 wavefront --variant waitany --grids 4 --imbalance 3@rank:1\n",
    .wrong = "a value is wrong"};

// COLUMNSxLINES. False if the text is no size.
bool parse_grid(const std::string &text, Settings &settings) {
    int columns = 0, lines = 0, used = 0;
    if (std::sscanf(text.c_str(), "%9dx%9d%n", &columns, &lines, &used) != 2 ||
        static_cast<std::size_t>(used) != text.size() || columns < 2 || lines < 2) {
        return false;
    }
    settings.columns = columns, settings.lines = lines;
    return true;
}

bool parse_options(Options &o, int argc, char **argv, int &status) {
    o.variant = "mpi";
    std::string grid;
    const auto add = [&](CLI::App &app) {
        apps::add_variant_option(app, o, "How to receive", variants());
        app.add_option("-g,--grid", grid, "COLUMNSxLINES of each grid [1000x1000]");
        app.add_option("-l,--lines", o.settings.per_message, "Lines in one message [1]")->check(CLI::Range(1, 1 << 24));
        app.add_option("-i,--iterations", o.settings.iterations, "Iterations [10]")->check(CLI::Range(1, 1 << 24));
        app.add_option("-n,--grids", o.settings.grids,
                       "Independent grids; odd ones run from the last rank to the first [1]")
            ->check(CLI::Range(1, 64));
        if (apps::simulated) {
            app.add_option("--cell-cost", o.settings.cell_cost, "Simulated seconds for one cell")
                ->check(CLI::Range(0.0, 1.0))
                ->required();
            app.add_option("--message-cost", o.settings.message_cost,
                           "Simulated seconds that the rank computes for each message it receives [0]")
                ->check(CLI::Range(0.0, 1.0));
        }
        apps::add_imbalance_option(app, o, {"rank"});
    };
    const auto check = [&] {
        if (!grid.empty() && !parse_grid(grid, o.settings)) {
            throw CLI::ValidationError("--grid", "'" + grid +
                                                     "' is no grid; write COLUMNSxLINES, both at least 2, for " +
                                                     "example 2000x1000");
        }
    };
    return apps::parse_options(o, description, variants(), argc, argv, status, add, check);
}

void check_options(const Options &o, int ranks) {
    if (o.settings.columns - 1 < ranks) {
        throw apps::InputError("--grid: " + std::to_string(o.settings.columns) +
                               " columns, of which the first is given, " + "are too few for " + std::to_string(ranks) +
                               " ranks");
    }
}

// `wrong`: the first wrong value.
void report(const Options &o, const apps::Measured &measured, long messages, const std::string &wrong) {
    const Settings &s = o.settings;
    const double cells = static_cast<double>(s.columns - 1) * (s.lines - 1) * s.iterations * s.grids;
    std::printf("%-10s %6s %12s %11s %13s  %s\n", "variant", "ranks", apps::simulated ? "simulated s" : "time s",
                "Mcells/s", "us/step", "values");
    const double steps = static_cast<double>(s.iterations) * ((s.lines - 2 + s.per_message) / s.per_message) * s.grids;
    std::printf("%-10s %6d %12.6f %11.1f %13.3f  %s\n", o.chosen->name, measured.ranks, measured.time,
                cells / measured.time * 1e-6, measured.time / steps * 1e6, wrong.empty() ? "right" : "WRONG");
    apps::print_notes(measured, !o.timeline.empty());
    if (o.json.empty()) {
        return;
    }
    apps::Json json{{"variant", o.chosen->name},
                    {"ranks", measured.ranks},
                    {"columns", s.columns},
                    {"lines", s.lines},
                    {"lines_per_message", s.per_message},
                    {"iterations", s.iterations},
                    {"grids", s.grids},
                    {"mpi", apps::mpi_name()},
                    {"simulated", apps::simulated},
                    {"time_s", measured.time},
                    {"messages", messages},
                    {"cell_ns", measured.time / cells * 1e9 * measured.ranks},
                    {"values", wrong.empty() ? "right" : wrong}};
    if (apps::simulated) {
        json["cell_cost_s"] = s.cell_cost;
        json["message_cost_s"] = s.message_cost;
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
    apps::TimedRun timed("wavefront", *o.chosen, o, comm);
    const int rank = timed.rank, ranks = timed.ranks;
    check_options(o, ranks);
    Settings settings = o.settings;
    if (o.imbalance && o.imbalance->has_member(rank)) {
        settings.factor = o.imbalance->factor;
    }
    long steps = 0, messages = 0;
    std::vector<std::unique_ptr<Pipeline>> grids;
    for (int g = 0; g < settings.grids; ++g) {
        grids.push_back(std::make_unique<Pipeline>(settings, g, rank, ranks));
        steps += grids.back()->steps();
        for (int step = 0; step < grids.back()->steps(); ++step) {
            messages += grids.back()->made(step).count > 0 ? 1 : 0;
        }
    }
    if (steps > 1L << 30) {
        throw apps::InputError("--iterations: more than 2^30 messages of one rank");
    }
    apps::ProgressBar bar(apps::draws_bar(o.progress, rank), o.chosen->name, static_cast<int>(steps), "steps");
    Run run{comm, std::move(grids), o.timeline.empty() ? nullptr : &timed.recorder, bar};

    timed.solve(*o.chosen, run);
    timed.write_timeline(settings.iterations, "forward");
    long all_messages = 0;
    MPI_Reduce(&messages, &all_messages, 1, MPI_LONG, MPI_SUM, 0, comm);

    std::string wrong_here;
    for (const auto &grid : run.grids) {
        if (wrong_here.empty()) {
            wrong_here = grid->check();
        }
    }
    const std::string wrong = apps::first_wrong("wavefront", wrong_here, comm);
    if (rank == 0) {
        report(o, timed.measured, all_messages, wrong);
    }
    return wrong.empty() ? apps::success : apps::wrong_result;
}

} // namespace

std::span<const Variant> variants() {
    return table;
}

} // namespace wavefront

int main(int argc, char **argv) {
    return apps::run_program<wavefront::Options>(argc, argv, wavefront::description.name, "mpi",
                                                 wavefront::parse_options, wavefront::run_variant);
}
