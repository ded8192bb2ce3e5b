// SPDX-License-Identifier: BSD-3-Clause
// qr: reads the command line, factorizes the matrix with one variant, checks the factors and reports.
#include "run.hpp"

#include "common/application.hpp"

#include <array>
#include <cstdio>

namespace qr {
namespace {

// Not constexpr, since with some MPIs the thread levels are no constant expressions.
const std::array table{
#ifndef THENCE_SIMULATED
    Variant{{"forkjoin", "MPI_Send and MPI_Recv between steps, each step a parallel loop of OpenMP",
             MPI_THREAD_FUNNELED, true, false},
            solve_forkjoin},
    Variant{{"reference", "data-flow tasks, an engine on MPI_Testsome over a fixed window of requests",
             MPI_THREAD_MULTIPLE, true, false},
            solve_reference},
    Variant{{"messages", "data-flow tasks, active messages (thence/am.h)", MPI_THREAD_MULTIPLE, true, true},
            solve_messages},
#endif
    Variant{
        {"reference-alone", "as reference, on one thread that computes what is ready", MPI_THREAD_SINGLE, false, false},
        solve_reference_alone},
    Variant{
        {"messages-alone", "as messages, on one thread that computes what is ready", MPI_THREAD_SINGLE, false, true},
        solve_messages_alone},
};

struct Options : apps::OptionsOf<Variant> {
    Shape shape;
    Tree tree = Tree::flat;
    int window = 64;
    int outgoing = 8;
    bool checks = !apps::simulated; // there nothing is computed
    double operation_cost = 0;
};

const apps::Description description{
    .name = "qr",
    .about =
        "qr: a tiled QR factorization. The tiles are distributed over the ranks block-cyclically; the factors are\n"
        "checked on rank 0: Q R is the matrix, and the columns of Q are orthogonal.",
    .examples = "  mpirun -n 2 qr --threads 1 --matrix 2048x2048\n"
                "  mpirun -n 4 qr --variant reference --window 128 --grid 2x2 --tree binary --json run.json\n",
    .wrong = "the factors are wrong",
    .timeline = !apps::simulated}; // the recorder reads the clock of the machine

// AxB. False if the text is none.
bool parse_pair(const std::string &text, int &a, int &b) {
    int used = 0;
    return std::sscanf(text.c_str(), "%9dx%9d%n", &a, &b, &used) == 2 &&
           static_cast<std::size_t>(used) == text.size() && a > 0 && b > 0;
}

bool parse_options(Options &o, int argc, char **argv, int &status) {
    o.variant = apps::simulated ? "messages-alone" : "messages";
    std::string matrix;
    std::string grid;
    std::string tree = "flat";
    bool no_check = false;
    const auto add = [&](CLI::App &app) {
        apps::add_variant_option(app, o, "How data come to the tasks", variants());
        app.add_option("-m,--matrix", matrix, "ROWSxCOLUMNS, not more columns than rows [1024x1024]");
        app.add_option("-b,--tile", o.shape.tile, "Rows and columns of a tile [128]")->check(CLI::Range(4, 4096));
        app.add_option("-g,--grid", grid, "ROWSxCOLUMNS of the grid of ranks [RANKSx1]");
        app.add_option("--tree", tree, "Order in which the tiles of a column are eliminated [flat]")
            ->check(CLI::IsMember({"flat", "binary"}));
        app.add_option("--window", o.window, "Active requests of the variant reference [64]")
            ->check(CLI::Range(16, 65536));
        app.add_option("--outgoing", o.outgoing, "Messages with data that leave a rank at a time [8]")
            ->check(CLI::Range(1, 65536));
        app.add_flag("--no-check", no_check,
                     "Do not check the factors, which takes as long as the factorization on one core");
        if (apps::simulated) {
            app.add_option("--cell-cost", o.operation_cost, "Simulated seconds for a floating-point operation")
                ->check(CLI::Range(0.0, 1.0))
                ->required();
        }
        apps::add_threads_option(app, o);
    };
    const auto check = [&] {
        if (!matrix.empty() && (!parse_pair(matrix, o.shape.rows, o.shape.columns) || o.shape.columns > o.shape.rows)) {
            throw CLI::ValidationError("--matrix", "'" + matrix +
                                                       "' is no matrix; write ROWSxCOLUMNS, not more columns than "
                                                       "rows, for example 2048x1024");
        }
        if (!grid.empty() && !parse_pair(grid, o.shape.grid_rows, o.shape.grid_columns)) {
            throw CLI::ValidationError("--grid", "'" + grid + "' is no grid; write ROWSxCOLUMNS, for example 2x2");
        }
        if (grid.empty()) {
            o.shape.grid_rows = 0; // as many as there are ranks
        }
        o.tree = tree == "flat" ? Tree::flat : Tree::binary;
        o.checks = o.checks && !no_check;
    };
    return apps::parse_options(o, description, variants(), argc, argv, status, add, check);
}

const char *verdict(const Options &o, const Errors &errors) {
    return !o.checks ? "unchecked" : errors.are_small() ? "right" : "WRONG";
}

void report(const Options &o, const Sequence &s, const apps::Measured &measured, const Errors &errors) {
    const Shape &h = s.shape;
    const std::string tiles = std::to_string(h.tile_rows()) + "x" + std::to_string(h.tile_columns());
    std::printf("%-10s %6s %8s %10s %9s %10s %10s %14s  %s\n", "variant", "ranks", "threads", "tiles", "time s",
                "Gflop/s", "residual", "orthogonality", "factors");
    std::printf("%-10s %6d %8d %10s %9.4f %10.2f %10.1e %14.1e  %s\n", o.chosen->name, measured.ranks, measured.threads,
                tiles.c_str(), measured.time, s.operations() / measured.time * 1e-9, errors.residual,
                errors.orthogonality, verdict(o, errors));
    apps::print_notes(measured, !o.timeline.empty());
    if (o.json.empty()) {
        return;
    }
    apps::Json json{{"variant", o.chosen->name},
                    {"ranks", measured.ranks},
                    {"threads", measured.threads},
                    {"rows", h.rows},
                    {"columns", h.columns},
                    {"tile", h.tile},
                    {"grid", {h.grid_rows, h.grid_columns}},
                    {"tree", o.tree == Tree::flat ? "flat" : "binary"},
                    {"window", o.window},
                    {"outgoing", o.outgoing},
                    {"mpi", apps::mpi_name()},
                    {"time_s", measured.time},
                    {"gflops", s.operations() / measured.time * 1e-9},
                    {"simulated", apps::simulated},
                    {"cell_ns", measured.time / s.operations() * 1e9 * measured.ranks}, // of an operation
                    {"tasks", s.tasks.size()},
                    {"messages", s.transfers.size()},
                    {"residual", errors.residual},
                    {"orthogonality", errors.orthogonality},
                    {"factors", verdict(o, errors)}};
    if (measured.continuations) {
        json["thence"] = apps::continuations_json(*measured.continuations);
    }
    apps::write_json_file(o.json, json);
}

int run_variant(const Options &o, MPI_Comm comm) {
    int rank;
    int ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    Shape shape = o.shape;
    if (shape.grid_rows == 0) {
        shape.grid_rows = ranks;
    }
    if (shape.grid_rows * shape.grid_columns != ranks) {
        throw apps::InputError("--grid: " + std::to_string(shape.grid_rows) + "x" + std::to_string(shape.grid_columns) +
                               " is not the number of ranks, " + std::to_string(ranks));
    }
    apps::check_outputs(comm, {o.json, o.timeline});
    if constexpr (!apps::simulated) {
        one_thread_per_kernel();
    }
    const int threads = apps::choose_threads("qr", *o.chosen, o.threads, rank, comm);
    const Sequence sequence(shape, o.tree);
    Blocks blocks(sequence, rank);
    int mine = 0;
    for (const Task &task : sequence.tasks) {
        mine += task.rank == rank ? 1 : 0;
    }
    apps::Recorder recorder(o.timeline.empty() ? 0 : static_cast<std::size_t>(o.timeline_capacity));
    apps::ProgressBar bar(apps::draws_bar(o.progress, rank), o.chosen->name, mine, "tasks");
    const apps::Nanoseconds offset = o.timeline.empty() ? 0 : apps::clock_offset(comm);
    Run run{comm, rank, threads, sequence, blocks, recorder, bar, o.window, o.outgoing, {}, o.operation_cost};

    o.chosen->solve(run);
    bar.clear();
    const apps::Measured measured = apps::gather(recorder, comm, threads, run.seconds, o.chosen->continuations);
    if (!o.timeline.empty()) {
        apps::write_timeline(o.timeline, recorder, comm, offset,
                             {o.chosen->name, threads, shape.tile_columns(), "forward", "kind"});
    }
    Errors errors;
    if constexpr (!apps::simulated) {
        errors = o.checks ? check(run) : errors;
    }
    int wrong = o.checks && !errors.are_small() ? 1 : 0;
    MPI_Bcast(&wrong, 1, MPI_INT, 0, comm);
    if (rank == 0) {
        report(o, sequence, measured, errors);
    }
    return wrong == 0 ? apps::success : apps::wrong_result;
}

} // namespace

std::span<const Variant> variants() {
    return table;
}

} // namespace qr

int main(int argc, char **argv) {
    return apps::run_program<qr::Options>(argc, argv, qr::description.name,
                                          apps::simulated ? "messages-alone" : "forkjoin", qr::parse_options,
                                          qr::run_variant);
}
