// SPDX-License-Identifier: BSD-3-Clause
// streaming: reads the command line, runs one variant, compares the chunks with a serial computation and reports.
#include "run.hpp"

#include "common/application.hpp"
#include "common/simulated.hpp"
#ifdef STREAMING_HAVE_TBB
#include "common/tampi.hpp"
#endif

#include <cstdio>

namespace streaming {
namespace {

struct Options : apps::OptionsOf<Variant> {
    Settings settings;
};

const apps::Description description{
    .name = "streaming",
    .about = "streaming: chunks of numbers go through the ranks as a pipeline. Each stage applies its functions to a\n"
             "chunk, block by block, and sends the blocks on. All variants compute the same numbers, bit for bit.",
    .examples = "  streaming --functions 4 --verify\n"
                "  mpirun -n 4 streaming --variant mpi --verify\n"
                "  mpirun -n 4 streaming --variant tampi --threads 1 --block 512 --timeline run.timeline.json\n"
                "  mpirun -n 4 streaming --variant mpi --imbalance 3@rank:1\n",
    .wrong = "a value is wrong"};

bool parse_options(Options &o, int argc, char **argv, int &status) {
    Settings &s = o.settings;
    return apps::parse_options(o, description, variants(), argc, argv, status, [&](CLI::App &app) {
        apps::add_variant_option(app, o, "How to compute and to send", variants());
        apps::add_threads_option(app, o);
        apps::add_number(app, "-s,--size", s.size, "Numbers of a chunk", 1, 1 << 27);
        apps::add_number(app, "-b,--block", s.block, "Numbers of a block, which is computed and sent at a time", 1,
                         1 << 27);
        apps::add_number(app, "-c,--chunks", s.chunks, "Chunks that go through the pipeline", 1, 1 << 24);
        apps::add_number(app, "-w,--work", s.work, "Steps of a function, for each number", 1, 1 << 20);
        app.add_option("-f,--functions", s.functions, "Functions, shared among the stages [as many as stages]")
            ->check(CLI::Range(1, 1 << 20));
        apps::add_number(app, "-l,--lanes", s.lanes,
                         "Ranks of a stage, which share each chunk: use the ranks of a host", 1, 1 << 20);
        app.add_flag("--verify", s.verify, "Compare all chunks with a serial computation, after the timed run");
        if (apps::simulated) {
            app.add_option("--cell-cost", s.cell_cost, "Simulated seconds for one function of one number")
                ->check(CLI::Range(0.0, 1.0))
                ->required();
        }
        apps::add_imbalance_option(app, o, {"rank"});
    });
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
                    {"cell_ns", time / (numbers * functions) * 1e9 * measured.ranks * measured.threads},
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
    apps::TimedRun timed("streaming", *o.chosen, o, comm);
    const int rank = timed.rank;
    check_settings(o.settings, timed.ranks);
    Stage stage(o.settings, rank, timed.ranks);
    apps::check_tags(comm, stage.blocks() - 1, std::to_string(stage.blocks()) + " blocks; use a larger --block");

    apps::ProgressBar bar(apps::draws_bar(o.progress, rank), o.chosen->name, o.settings.chunks, "chunks");
    Run run{comm, stage, timed.threads, timed.recorder, bar, o.imbalance ? o.imbalance->factor_of(rank, 0, 0) : 1};

    timed.solve(*o.chosen, run);
    timed.write_timeline(o.settings.chunks, "forward");
    const std::string wrong = apps::first_wrong("streaming", stage.check(), comm);
    if (o.chosen->release != nullptr) {
        o.chosen->release(run);
    }
    if (rank == 0) {
        report(o, run, timed.measured, wrong);
    }
    return wrong.empty() ? apps::success : apps::wrong_result;
}

void prepare([[maybe_unused]] const Options &options, char **) {
#ifdef STREAMING_HAVE_TBB
    apps::prepare_tampi(*options.chosen);
#endif
}

} // namespace
} // namespace streaming

int main(int argc, char **argv) {
    return apps::run_program<streaming::Options>(argc, argv, streaming::description.name, "mpi",
                                                 streaming::parse_options, streaming::run_variant, streaming::prepare);
}
