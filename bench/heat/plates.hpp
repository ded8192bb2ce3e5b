// SPDX-License-Identifier: BSD-3-Clause
// Four independent plates (apps/heat/plates) on two ranks with one thread each: callbacks and a coroutine for each plate
// against MPI only, which is pipelined by hand. The baseline is the better of the two orders that people write: a piece of
// each plate in turn, or one plate after the other.
//
// With "from both ends", odd plates begin on the last rank. That is another distribution of the data. A program with a fixed
// order would only lose by it, so the baseline does not have it.
#pragma once

#include "measure/benchmark.hpp"
#include "measure/contest.hpp"

#include "heat/plates/variants.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace measure::plate_runs {

struct way {
    const char *name;
    void (*solve)(plates::Run &);
    bool mirrored;
};
// In the order of the parameter `variant`.
constexpr way ways[] = {{"MPI only, plates in turn", plates::solve_mpi, false},
                        {"MPI only, plate after plate", plates::solve_mpi, false},
                        {"callbacks", plates::solve_callbacks, false},
                        {"coroutines", plates::solve_coroutine, false},
                        {"callbacks, from both ends", plates::solve_callbacks, true},
                        {"coroutines, from both ends", plates::solve_coroutine, true}};
constexpr std::size_t baselines = 2, after_each_other = 1, callbacks = 2;

// Plates of 512 x 512 in blocks of 64. With `messages` 0, each rank has its rows as plates of its own. The run fails if a
// value differs from that of a serial run.
inline void several(work &work) {
    const auto variant = static_cast<std::size_t>(work.parameter("variant"));
    const bool messages = work.parameter("messages") != 0;
    int all = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    plates::Settings settings;
    settings.config.top = 100;
    settings.config.left = 50;
    settings.config.iterations = static_cast<int>(work.parameter("iterations"));
    settings.config.rows /= messages ? 1 : all;
    settings.plates = static_cast<int>(work.parameter("plates"));
    settings.mirrored = ways[variant].mirrored;
    apps::ProgressBar bar(false, "", 1);
    plates::Run run{messages ? MPI_COMM_WORLD : MPI_COMM_SELF, {}, settings.config.iterations, bar};
    for (int p = 0; p < settings.plates; ++p)
        run.plates.push_back(
            std::make_unique<plates::Plate>(settings, p, messages ? work.rank() : 0, messages ? all : 1));
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (variant == after_each_other) {
        std::vector<std::unique_ptr<plates::Plate>> todo;
        todo.swap(run.plates);
        for (auto &plate : todo) {
            run.plates.clear();
            run.plates.push_back(std::move(plate));
            ways[variant].solve(run);
            plate = std::move(run.plates[0]);
        }
        run.plates.swap(todo);
    } else {
        ways[variant].solve(run);
    }
    double took = MPI_Wtime() - begin;
    for (const auto &plate : run.plates)
        if (const std::string wrong = plate->check(); !wrong.empty()) {
            std::fprintf(stderr, "heat_plates: rank %d: %s\n", work.rank(), wrong.c_str());
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    work.result("seconds", took);
}

// `delay`: between two hosts with a rank each; empty: both ranks on this machine.
inline contender run_of(session &session, const std::string &delay, std::size_t variant, int plates = 4,
                        bool messages = true) {
    const job what{.work = "several",
                   .threads = level::single,
                   .parameters = {{"variant", static_cast<long>(variant)},
                                  {"plates", plates},
                                  {"messages", messages ? 1 : 0},
                                  {"iterations", session.quick() ? 100 : 300}}};
    return {ways[variant].name, [&session, delay, what] {
                return delay.empty() ? session.together(2, what) : session.on_two_hosts(delay, what);
            }};
}

// A figure for the best with continuations against the better order of MPI only; with a bar of 0 it has none.
inline void compare(session &session, const std::string &delay, double bar) {
    std::vector<contender> all;
    for (std::size_t v = 0; v < std::size(ways); ++v)
        all.push_back(run_of(session, delay, v));
    const int rounds = session.quick() ? (delay.empty() ? 3 : 1) : (delay.empty() ? 9 : 5);
    const contest runs(all, rounds);
    const std::size_t baseline = runs.best(0, baselines);
    figure found = runs.compared(runs.best(baselines, all.size()), baseline);
    found.name = "4 plates" + (delay.empty() ? "" : ", two hosts, delay " + delay) + ": " + found.name;
    if (bar > 0) {
        found.kind = bar_kind::at_least;
        found.bar = bar;
    }
    if (!found.passed()) {
        // Two things that no order of the work can surpass: the computation of a rank, and the chain of one plate.
        const contest limits({all[baseline], run_of(session, delay, 0, 4, false), run_of(session, delay, callbacks, 1)},
                             rounds);
        char text[250];
        std::snprintf(
            text, sizeof text,
            "limit: a rank computes %.1f ms, and one plate alone takes %.1f ms, whatever the order; the longer one "
            "is %.2f times as fast as MPI only",
            1e3 * limits.seconds(1), 1e3 * limits.seconds(2),
            limits.seconds(0) / std::max(limits.seconds(1), limits.seconds(2)));
        found.note = text;
    }
    session.add(std::move(found));
}

} // namespace measure::plate_runs
