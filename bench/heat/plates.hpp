// SPDX-License-Identifier: BSD-3-Clause
// Four independent plates (apps/heat/plates) on two ranks with one thread each: callbacks and a coroutine for each
// plate against MPI only. The baseline is the best of the three ways that people write: a piece of each plate in turn,
// one plate after the other, or whole rows, as fork-join exchanges them.
//
// Blocks have the width that is best for MPI only, and it is good for continuations, too: 256 columns on one machine,
// and whole rows between two hosts, where each message costs more than what a narrower block gains.
//
// With "from both ends", odd plates begin on the last rank. That is another distribution of the data. A program with a
// fixed order would only lose by it, so the baseline does not have it.
#pragma once

#include "measure/alternate.hpp"
#include "measure/benchmark.hpp"
#include "measure/contest.hpp"
#include "measure/limit.hpp"

#include "heat/plates/variants.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace measure::plate_runs {

const std::vector<std::string> names{
    "MPI only, plates in turn",   "MPI only, plate after plate", "MPI only, whole rows", "callbacks", "coroutines",
    "callbacks, from both ends",  "coroutines, from both ends",  "without messages",     "one plate", "MPI_Waitany",
    "MPI_Waitany, from both ends"};
// In the order of `names`. Behind the ways with continuations come two limits, which no order of the work can surpass:
// the computation of a rank, and the messages of one plate, each of which waits for the one before. The last two are
// plain MPI in the order of callbacks.
struct way {
    void (*solve)(plates::Run &);
    bool mirrored = false;
};
constexpr way ways[] = {{plates::solve_mpi},
                        {plates::solve_mpi},
                        {plates::solve_forkjoin},
                        {plates::solve_callbacks},
                        {plates::solve_coroutine},
                        {plates::solve_callbacks, true},
                        {plates::solve_coroutine, true},
                        {plates::solve_mpi},
                        {plates::solve_callbacks},
                        {plates::solve_waitany},
                        {plates::solve_waitany, true}};
constexpr std::size_t after_each_other = 1, with_continuations = 3, computation = 7, one_plate = 8, waitany = 9;

// Runs one way, on plates of 512 x 512, and returns the seconds of the slower rank. Without messages, each rank has its
// rows as plates of its own. The program ends if a value differs from that of a serial run.
inline double run_once(work &work, std::size_t number) {
    const bool messages = number != computation;
    int all = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    plates::Settings settings;
    settings.config.top = 100;
    settings.config.left = 50;
    settings.config.block = static_cast<int>(work.parameter("columns"));
    settings.config.iterations = static_cast<int>(work.parameter("iterations"));
    settings.config.rows /= messages ? 1 : all;
    settings.plates = number == one_plate ? 1 : 4;
    settings.mirrored = ways[number].mirrored;
    apps::ProgressBar bar(false, "", 1);
    plates::Run run{messages ? MPI_COMM_WORLD : MPI_COMM_SELF, {}, settings.config.iterations, bar};
    for (int p = 0; p < settings.plates; ++p) {
        run.plates.push_back(
            std::make_unique<plates::Plate>(settings, p, messages ? work.rank() : 0, messages ? all : 1));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (number == after_each_other) {
        std::vector<std::unique_ptr<plates::Plate>> todo;
        todo.swap(run.plates);
        for (auto &plate : todo) {
            run.plates.clear();
            run.plates.push_back(std::move(plate));
            ways[number].solve(run);
            plate = std::move(run.plates[0]);
        }
        run.plates.swap(todo);
    } else {
        ways[number].solve(run);
    }
    double took = MPI_Wtime() - begin;
    for (const auto &plate : run.plates) {
        if (const std::string wrong = plate->check(); !wrong.empty()) {
            std::fprintf(stderr, "heat_plates: rank %d: %s: %s\n", work.rank(), names[number].c_str(), wrong.c_str());
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return took;
}

inline void several(work &work) {
    alternate(work, std::size(ways), static_cast<int>(work.parameter("rounds")), 1,
              [&](std::size_t number) { return run_once(work, number); });
}

// A figure for the best with continuations against the best of MPI only; with a bar of 0 it has none. `delay`: between
// two hosts with a rank each; empty: both ranks on this machine.
inline void compare(session &session, const std::string &delay, double bar) {
    const job what{.work = "several",
                   .threads = level::single,
                   .parameters = {{"columns", delay.empty() ? 256 : 512}, {"rounds", 3}, {"iterations", 60}}};
    std::vector<numbers> launches(session.quick() ? 1 : 3);
    for (numbers &launch : launches) {
        launch = delay.empty() ? session.together(2, what) : session.on_two_hosts(delay, what);
    }
    const contest runs = contest::of_launches(names, launches);
    const std::size_t baseline = runs.best(0, with_continuations);
    figure found = runs.compared(runs.best(with_continuations, computation), baseline);
    found.name = "4 plates" + (delay.empty() ? "" : ", two hosts, delay " + delay) + ": " + found.name;
    if (bar > 0) {
        found.kind = bar_kind::at_least;
        found.bar = bar;
    }
    const double plain = runs.speed(runs.best(waitany, names.size()), baseline).value;
    add_peer(found, "plain MPI in the same order (MPI_Waitany)", plain);
    char text[150];
    std::snprintf(text, sizeof text,
                  "a rank computes %.1f ms, and one plate alone takes %.1f ms, whatever the order; the longer one",
                  1e3 * runs.seconds(computation), 1e3 * runs.seconds(one_plate));
    add_limit(found, {.what = text,
                      .value = runs.seconds(baseline) / std::max(runs.seconds(computation), runs.seconds(one_plate)),
                      .reached = std::max(1.0, plain)});
    session.add(std::move(found));
}

} // namespace measure::plate_runs
