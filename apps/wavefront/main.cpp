// SPDX-License-Identifier: BSD-3-Clause
// wavefront: reads the command line, runs one variant on all grids, checks every value and reports.
#include "variants.hpp"

#include "common/measure.hpp"
#include "common/options.hpp"
#include "common/program.hpp"
#include "common/simulated.hpp"
#include "common/timeline.hpp"

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

struct Options : apps::CommonOptions {
    Settings settings;
    const Variant *chosen = nullptr;
};

// COLUMNSxLINES. False if the text is no size.
bool parse_grid(const std::string &text, Settings &settings) {
    int columns = 0, lines = 0, used = 0;
    if (std::sscanf(text.c_str(), "%9dx%9d%n", &columns, &lines, &used) != 2 ||
        static_cast<std::size_t>(used) != text.size() || columns < 2 || lines < 2)
        return false;
    settings.columns = columns, settings.lines = lines;
    return true;
}

bool parse_options(Options &o, int argc, char **argv, int &status) {
    CLI::App app(
        "wavefront: dependent chains of small messages. Lines of a grid move through the ranks as a pipeline, as\n"
        "in the kernel p2p of the Parallel Research Kernels. Every rank checks all of its values.",
        "wavefront");
    app.get_formatter()->column_width(34);
    o.variant = "mpi";
    std::string grid;
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
    apps::add_json_option(app, o);
    apps::add_timeline_options(app, o);
    apps::add_progress_option(app, o);
    app.footer("\n" + apps::variant_list(variants()) +
               "\nExamples:\n"
               "  mpirun -n 2 wavefront --variant callbacks\n"
               "  mpirun -n 4 wavefront --variant coroutine --grid 2000x1000 --lines 8 --json run.json\n"
               "  mpirun -n 4 wavefront --variant waitany --grids 4 --imbalance 3@rank:1\n"
               "\nExit status: 0 done, 1 failure, 2 wrong usage, 3 a value is wrong.");
    const auto check = [&] {
        if (!grid.empty() && !parse_grid(grid, o.settings))
            throw CLI::ValidationError("--grid", "'" + grid +
                                                     "' is no grid; write COLUMNSxLINES, both at least 2, for " +
                                                     "example 2000x1000");
    };
    if (!apps::parse(app, argc, argv, check, status))
        return false;
    o.chosen = apps::find_variant(variants(), o.variant);
    return true;
}

void check_options(const Options &o, int ranks) {
    if (o.settings.columns - 1 < ranks)
        throw apps::InputError("--grid: " + std::to_string(o.settings.columns) +
                               " columns, of which the first is given, " + "are too few for " + std::to_string(ranks) +
                               " ranks");
    apps::check_imbalance(o.imbalance, ranks);
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
    if (o.json.empty())
        return;
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
    if (o.imbalance)
        json["imbalance"] = o.imbalance->text;
    if (measured.continuations)
        json["thence"] = apps::continuations_json(*measured.continuations);
    apps::write_json_file(o.json, json);
}

int run_variant(const Options &o, MPI_Comm comm) {
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    check_options(o, ranks);
    apps::check_outputs(comm, {o.json, o.timeline});
    Settings settings = o.settings;
    if (o.imbalance && o.imbalance->has_member(rank))
        settings.factor = o.imbalance->factor;
    apps::Recorder recorder(o.timeline.empty() ? 0 : static_cast<std::size_t>(o.timeline_capacity));
    recorder.lane();
    long steps = 0, messages = 0;
    std::vector<std::unique_ptr<Pipeline>> grids;
    for (int g = 0; g < settings.grids; ++g) {
        grids.push_back(std::make_unique<Pipeline>(settings, g, rank, ranks));
        steps += grids.back()->steps();
        for (int step = 0; step < grids.back()->steps(); ++step)
            messages += grids.back()->made(step).count > 0 ? 1 : 0;
    }
    if (steps > 1L << 30)
        throw apps::InputError("--iterations: more than 2^30 messages of one rank");
    apps::ProgressBar bar(apps::draws_bar(o.progress, rank), o.chosen->name, static_cast<int>(steps), "steps");
    Run run{comm, std::move(grids), o.timeline.empty() ? nullptr : &recorder, bar};
    const apps::Nanoseconds offset = o.timeline.empty() ? 0 : apps::clock_offset(comm);

    MPI_Barrier(comm);
    const double begin = MPI_Wtime();
    o.chosen->solve(run);
    const double mine = MPI_Wtime() - begin;
    bar.clear();
    const apps::Measured measured = apps::gather(recorder, comm, 1, mine, o.chosen->continuations);
    if (!o.timeline.empty())
        apps::write_timeline(o.timeline, recorder, comm, offset, {o.chosen->name, 1, settings.iterations, "forward"});
    long all_messages = 0;
    MPI_Reduce(&messages, &all_messages, 1, MPI_LONG, MPI_SUM, 0, comm);

    std::string wrong_here;
    for (const auto &grid : run.grids)
        if (wrong_here.empty())
            wrong_here = grid->check();
    const std::string wrong = apps::first_wrong("wavefront", wrong_here, comm);
    if (rank == 0)
        report(o, measured, all_messages, wrong);
    return wrong.empty() ? apps::success : apps::wrong_result;
}

} // namespace

std::span<const Variant> variants() {
    return table;
}

} // namespace wavefront

int main(int argc, char **argv) {
    int status = apps::success;
    wavefront::Options options;
    if (!wavefront::parse_options(options, argc, argv, status))
        return status;
    return apps::run_with_mpi("wavefront", *options.chosen, "mpi",
                              [&](MPI_Comm comm) { return wavefront::run_variant(options, comm); });
}
