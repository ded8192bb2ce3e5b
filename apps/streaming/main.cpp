// SPDX-License-Identifier: BSD-3-Clause
// streaming: reads the command line, runs one variant, compares the chunks with a serial computation and reports.
#include "run.hpp"

#include "common/measure.hpp"
#include "common/options.hpp"
#include "common/program.hpp"
#include "common/simulated.hpp"
#include "common/timeline.hpp"

#ifdef STREAMING_HAVE_TBB
#include <TAMPI.h>
#include <thence/dataflow.h>
#include <thence/task_runtime.h>
#endif
#include <cstdio>

namespace streaming {
namespace {

struct Options : apps::CommonOptions {
    Settings settings;
    const Variant *chosen = nullptr;
};

bool parse_options(Options &o, int argc, char **argv, int &status) {
    CLI::App app(
        "streaming: chunks of numbers go through the ranks as a pipeline. Each stage applies its functions to a\n"
        "chunk, block by block, and sends the blocks on. All variants compute the same numbers, bit for bit.",
        "streaming");
    app.get_formatter()->column_width(34);
    Settings &s = o.settings;
    const auto number = [&](const char *name, int &value, const char *what, int least, int most) {
        app.add_option(name, value, std::string(what) + " [" + std::to_string(value) + "]")
            ->check(CLI::Range(least, most));
    };
    apps::add_variant_option(app, o, "How to compute and to send", variants());
    apps::add_threads_option(app, o);
    number("-s,--size", s.size, "Numbers of a chunk", 1, 1 << 27);
    number("-b,--block", s.block, "Numbers of a block, which is computed and sent at a time", 1, 1 << 27);
    number("-c,--chunks", s.chunks, "Chunks that go through the pipeline", 1, 1 << 24);
    number("-w,--work", s.work, "Steps of a function, for each number", 1, 1 << 20);
    app.add_option("-f,--functions", s.functions, "Functions, shared among the stages [as many as stages]")
        ->check(CLI::Range(1, 1 << 20));
    number("-l,--lanes", s.lanes, "Ranks of a stage, which share each chunk: use the ranks of a host", 1, 1 << 20);
    app.add_flag("--verify", s.verify, "Compare all chunks with a serial computation, after the timed run");
    if (apps::simulated) {
        app.add_option("--cell-cost", s.cell_cost, "Simulated seconds for one function of one number")
            ->check(CLI::Range(0.0, 1.0))
            ->required();
    }
    apps::add_imbalance_option(app, o, {"rank"});
    apps::add_json_option(app, o);
    apps::add_timeline_options(app, o);
    apps::add_progress_option(app, o);
    app.footer("\n" + apps::variant_list(variants()) +
               "\nExamples:\n"
               "  streaming --functions 4 --verify\n"
               "  mpirun -n 4 streaming --variant mpi --verify\n"
               "  mpirun -n 4 streaming --variant tampi --threads 1 --block 512 --timeline run.timeline.json\n"
               "  mpirun -n 4 streaming --variant mpi --imbalance 3@rank:1\n"
               "\nExit status: 0 done, 1 failure, 2 wrong usage, 3 a value is wrong.");
    if (!apps::parse(
            app, argc, argv, [] {}, status)) {
        return false;
    }
    o.chosen = apps::find_variant(variants(), o.variant);
    return true;
}

// `wrong`: the first wrong value.
void report(const Options &o, const Run &run, const apps::Measured &measured, const std::string &wrong) {
    const Settings &s = o.settings;
    const double numbers = static_cast<double>(s.size) * s.chunks, time = measured.time;
    const int functions = s.functions == 0 ? run.stage.stages() : s.functions;
    const char *verdict = !s.verify ? "unchecked" : wrong.empty() ? "identical" : "WRONG";
    const apps::Shares shares = measured.shares();
    std::printf("%-14s %15s %9s %11s %8s %9s %7s %7s %7s  %s\n", "variant", "ranks x threads",
                apps::simulated ? "simul. s" : "time s", "Mupdates/s", "Gbit/s", "compute %", "MPI %", "poll %",
                "idle %", "numbers");
    std::printf("%-14s %11d x %-3d %7.3f %11.1f %8.3f %9.1f %7.1f %7.1f %7.1f  %s\n", o.chosen->name, measured.ranks,
                measured.threads, time, numbers / time * 1e-6, numbers * 64 / time * 1e-9, 100 * shares.compute,
                100 * shares.mpi, 100 * shares.poll, 100 * shares.idle, verdict);
    apps::print_notes(measured, !o.timeline.empty());
    if (o.json.empty()) {
        return;
    }
    apps::Json json{{"variant", o.chosen->name},
                    {"ranks", measured.ranks},
                    {"threads", measured.threads},
                    {"size", s.size},
                    {"block", s.block},
                    {"chunks", s.chunks},
                    {"work", s.work},
                    {"functions", functions},
                    {"lanes", s.lanes},
                    {"mpi", apps::mpi_name()},
                    {"simulated", apps::simulated},
                    {"time_s", time},
                    {"updates_per_s", numbers / time},
                    {"gbit_per_s", numbers * 64 / time * 1e-9},
                    {"share_of_thread_time", apps::times_json(measured)},
                    {"ranks_detail", apps::ranks_json(measured)},
                    {"values", wrong.empty() ? verdict : wrong.c_str()}};
    if (o.imbalance) {
        json["imbalance"] = o.imbalance->text;
    }
    if (measured.continuations) {
        json["thence"] = apps::continuations_json(*measured.continuations);
    }
    apps::write_json_file(o.json, json);
}

int run_variant(const Options &o, MPI_Comm comm) {
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    if (o.chosen->serial && ranks > 1) {
        throw apps::InputError("the variant serial runs on one rank; for " + std::to_string(ranks) +
                               " ranks use --variant mpi");
    }
    check_settings(o.settings, ranks);
    const int threads = apps::choose_threads("streaming", *o.chosen, o.threads, rank, comm);
    apps::check_imbalance(o.imbalance, ranks);
    apps::check_outputs(comm, {o.json, o.timeline});
    Stage stage(o.settings, rank, ranks);
    apps::check_tags(comm, stage.blocks() - 1, std::to_string(stage.blocks()) + " blocks; use a larger --block");

    apps::Recorder recorder(o.timeline.empty() ? 0 : static_cast<std::size_t>(o.timeline_capacity));
    recorder.lane(); // this thread gets the first lane
    apps::ProgressBar bar(apps::draws_bar(o.progress, rank), o.chosen->name, o.settings.chunks, "chunks");
    Run run{comm, stage, threads, recorder, bar, o.imbalance ? o.imbalance->factor_of(rank, 0, 0) : 1};
    const apps::Nanoseconds offset = o.timeline.empty() ? 0 : apps::clock_offset(comm);

    if (o.chosen->prepare != nullptr) {
        o.chosen->prepare(run);
    }
    MPI_Barrier(comm);
    const double begin = MPI_Wtime();
    o.chosen->solve(run);
    const double mine = MPI_Wtime() - begin;
    bar.clear();
    const apps::Measured measured = apps::gather(recorder, comm, threads, mine, o.chosen->continuations);
    if (!o.timeline.empty()) {
        apps::write_timeline(o.timeline, recorder, comm, offset,
                             {o.chosen->name, threads, o.settings.chunks, "forward"});
    }
    const std::string wrong = apps::first_wrong("streaming", stage.check(), comm);
    if (o.chosen->release != nullptr) {
        o.chosen->release(run);
    }
    if (rank == 0) {
        report(o, run, measured, wrong);
    }
    return wrong.empty() ? apps::success : apps::wrong_result;
}

int run_program(const Options &options) {
#ifdef STREAMING_HAVE_TBB
    // TAMPI asks in MPI_Init_thread which runtimes there are. The other variants need nothing that it starts.
    thence_task_runtime_add(thence_flow_task_runtime());
    TAMPI_Property_set(TAMPI_PROPERTY_AUTO_INIT, options.chosen->tampi ? 1 : 0);
#endif
    return apps::run_with_mpi("streaming", *options.chosen, "mpi",
                              [&](MPI_Comm comm) { return run_variant(options, comm); });
}

} // namespace
} // namespace streaming

int main(int argc, char **argv) {
    int status = apps::success;
    streaming::Options options;
    if (!streaming::parse_options(options, argc, argv, status)) {
        return status;
    }
    return streaming::run_program(options);
}
