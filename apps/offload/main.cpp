// SPDX-License-Identifier: BSD-3-Clause
// offload: reads the command line, runs one variant over all time steps, checks every result and reports.
#include "polling_manager.hpp"
#include "variants.hpp"

#include "common/measure.hpp"
#include "common/options.hpp"
#include "common/program.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace offload {
namespace {

// Not constexpr, since with some MPIs the thread levels are no constant expressions.
const std::array table{
    Variant{{"none", "each rank computes its own cells", MPI_THREAD_FUNNELED, true, false}, solve_none},
    Variant{{"polling", "cells move to ranks that wait; workers poll groups of requests with MPI_Testsome",
             MPI_THREAD_MULTIPLE, true, false},
            solve_polling},
    Variant{{"continuations", "cells move to ranks that wait; a continuation for each group (thence/offload.hpp)",
             MPI_THREAD_MULTIPLE, true, true},
            solve_continuations},
};

struct Options : apps::CommonOptions {
    Settings settings;
    thence::offload_settings offloading;
    double task_us = 1000, kib = 16;
    std::string slow_text;
    std::optional<apps::Imbalance> slow;
    int every = 0, window = 0;
    bool no_helper = false;
    const Variant *chosen = nullptr;
};

bool parse_options(Options &o, int argc, char **argv, int &status) {
    CLI::App app(
        "offload: cells of a time-stepping solver as tasks, with uneven costs. Ranks that others wait for offload\n"
        "cells to ranks that wait. Every rank checks all results.",
        "offload");
    app.get_formatter()->column_width(34);
    o.variant = "continuations";
    apps::add_variant_option(app, o, "Who computes a cell, and who notices messages", variants());
    apps::add_threads_option(app, o);
    app.add_option("-c,--cells", o.settings.cells, "Cells of each rank [40]")->check(CLI::Range(1, 100000));
    app.add_option("-s,--steps", o.settings.steps, "Time steps [100]")->check(CLI::Range(1, 1 << 24));
    app.add_option("--task-us", o.task_us, "Microseconds that a cell costs [1000]")->check(CLI::Range(1.0, 1e7));
    app.add_option("--kib", o.kib, "KiB of the input of a cell [16]")->check(CLI::Range(0.0625, 1e5));
    apps::add_imbalance_option(app, o, {"rank"});
    app.add_option("--slow", o.slow_text, "FACTOR@rank:N[,N...]: these ranks compute every cell FACTOR times slower");
    app.add_option("--every", o.every, "After so many steps the next ranks are the dear or slow ones; 0: never [0]")
        ->check(CLI::Range(0, 1 << 24));
    app.add_option("--gain", o.offloading.gain, "Which part of a difference of waiting is evened out at once [0.7]")
        ->check(CLI::Range(0.01, 2.0));
    app.add_option("--receives", o.offloading.receives, "Persistent receives for metadata [4]")
        ->check(CLI::Range(1, 1024));
    app.add_option("--in-flight", o.offloading.in_flight, "Most cells of a rank that are away at once [256]")
        ->check(CLI::Range(1, 1 << 20));
    app.add_option("--window", o.window, "polling: requests passed to MPI_Testsome at once; 0: all [0]")
        ->check(CLI::Range(0, 1 << 20));
    app.add_flag("--no-helper", o.no_helper, "continuations: only the workers make progress");
    apps::add_json_option(app, o);
    apps::add_progress_option(app, o);
    app.footer("\n" + apps::variant_list(variants()) +
               "\nExamples:\n"
               "  mpirun -n 2 offload --threads 1 --slow 2@rank:0\n"
               "  mpirun -n 2 offload --threads 1 --imbalance 2@rank:0 --every 25 --variant polling --json run.json\n"
               "\nExit status: 0 done, 1 failure, 2 wrong usage, 3 a value is wrong.");
    const auto check = [&] {
        if (!o.slow_text.empty() && o.imbalance) {
            throw CLI::ValidationError("--slow", "use this or --imbalance");
        }
        try {
            if (!o.slow_text.empty()) {
                o.slow = apps::parse_imbalance(o.slow_text, {"rank"});
            }
        } catch (const std::invalid_argument &error) {
            throw CLI::ValidationError("--slow", error.what());
        }
        if (const auto &chosen = o.slow ? o.slow : o.imbalance) {
            o.settings.uneven = {chosen->factor, o.slow.has_value(), chosen->members, o.every};
        } else if (o.every != 0) {
            throw CLI::ValidationError("--every", "no rank is dear or slow; add for example --slow 2@rank:0");
        }
    };
    if (!apps::parse(app, argc, argv, check, status)) {
        return false;
    }
    o.settings.task_seconds = o.task_us * 1e-6;
    o.settings.values = static_cast<std::size_t>(o.kib * 128);
    o.offloading.any_thread = !o.no_helper;
    PollingManager::window = o.window;
    o.chosen = apps::find_variant(variants(), o.variant);
    return true;
}

// All steps of all ranks, rank after rank, on rank 0.
std::vector<thence::offload_step> gather_steps(const Run &run) {
    const int bytes = static_cast<int>(run.steps.size() * sizeof(thence::offload_step));
    std::vector<thence::offload_step> all(run.rank == 0 ? run.steps.size() * static_cast<std::size_t>(run.ranks) : 0);
    MPI_Gather(run.steps.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, 0, run.comm);
    return all;
}

void report(const Options &o, const apps::Measured &measured, const Run &run,
            const std::vector<thence::offload_step> &all, const std::string &wrong) {
    const Settings &s = o.settings;
    double computed = 0, waited = 0, offloaded = 0, emergencies = 0;
    for (const thence::offload_step &step : all) {
        computed += step.computed, waited += step.waited;
        offloaded += step.offloaded, emergencies += step.emergencies;
    }
    const double cells = static_cast<double>(s.cells) * s.steps * run.ranks;
    std::printf("%-14s %5s %7s %10s %10s %10s %11s %11s  %s\n", "variant", "ranks", "threads", "time s", "waited s",
                "of all %", "offloaded %", "emergencies", "values");
    std::printf("%-14s %5d %7d %10.4f %10.4f %10.1f %11.1f %11.0f  %s\n", o.chosen->name, run.ranks, run.threads,
                measured.time, waited, 100 * waited / (measured.time * run.ranks), 100 * offloaded / cells, emergencies,
                wrong.empty() ? "right" : "WRONG");
    apps::print_notes(measured, false);
    if (o.json.empty()) {
        return;
    }
    apps::JsonFile file(o.json);
    file.member("variant", o.chosen->name);
    file.member("ranks", run.ranks);
    file.member("threads", run.threads);
    file.member("cells", s.cells);
    file.member("steps", s.steps);
    file.member("task_us", o.task_us);
    file.member("values_per_cell", s.values);
    file.member("factor", s.uneven.factor);
    file.member("slow_rank", s.uneven.slow_rank);
    file.member("every", s.uneven.every);
    file.member("mpi", apps::mpi_name());
    file.member("time_s", measured.time);
    file.member("computed_s", computed);
    file.member("waited_s", waited);
    file.member("offloaded", offloaded);
    file.member("emergencies", emergencies);
    if (measured.continuations) {
        file.member("thence", apps::continuations_json(*measured.continuations));
    }
    file.member("values", wrong.empty() ? "right" : wrong);
    file.member("step_fields", apps::Json::array({"rank", "step", "seconds", "computed", "waited", "own", "foreign",
                                                  "offloaded", "emergencies"}));
    file.begin_rows("rows");
    for (std::size_t i = 0; i < all.size(); ++i) {
        const thence::offload_step &step = all[i];
        file.row(apps::Json::array({i / run.steps.size(), i % run.steps.size(), step.seconds, step.computed,
                                    step.waited, step.own, step.foreign, step.offloaded, step.emergencies}));
    }
    file.end_rows();
    file.finish();
}

int run_variant(const Options &o, MPI_Comm comm) {
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    apps::check_imbalance(o.imbalance, ranks);
    apps::check_imbalance(o.slow, ranks, 0, "--slow");
    const int threads = apps::choose_threads("offload", *o.chosen, o.threads, rank, comm);
    apps::check_outputs(comm, {o.json});
    double rounds = measure_rounds(o.settings.values);
    MPI_Allreduce(MPI_IN_PLACE, &rounds, 1, MPI_DOUBLE, MPI_MAX, comm); // other processes only make it slower
    Cells cells(o.settings, rank, ranks, rounds);
    apps::ProgressBar bar(apps::draws_bar(o.progress, rank), o.chosen->name, o.settings.steps, "steps");
    thence::offload_settings offloading = o.offloading;
    offloading.workers = threads;
    Run run{comm, rank, ranks, threads, o.settings, offloading, cells, bar};
    apps::Recorder recorder(0);

    MPI_Barrier(comm);
    const double begin = MPI_Wtime();
    o.chosen->solve(run);
    const double mine = MPI_Wtime() - begin;
    bar.clear();
    const apps::Measured measured = apps::gather(recorder, comm, threads, mine, o.chosen->continuations);
    const std::vector<thence::offload_step> all = gather_steps(run);
    const std::string wrong = apps::first_wrong("offload", run.wrong, comm);
    if (rank == 0) {
        report(o, measured, run, all, wrong);
    }
    return wrong.empty() ? apps::success : apps::wrong_result;
}

} // namespace

std::span<const Variant> variants() {
    return table;
}

} // namespace offload

int main(int argc, char **argv) {
    int status = apps::success;
    offload::Options options;
    if (!offload::parse_options(options, argc, argv, status)) {
        return status;
    }
    return apps::run_with_mpi("offload", *options.chosen, "none",
                              [&](MPI_Comm comm) { return offload::run_variant(options, comm); });
}
