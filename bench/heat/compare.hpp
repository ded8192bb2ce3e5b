// SPDX-License-Identifier: BSD-3-Clause
// Runs of the variants of heat (apps/heat), and the limits that are printed beside a bar that is missed.
#pragma once

#include "heat/two_threads.hpp"
#include "measure/benchmark.hpp"
#include "measure/checksum.hpp"
#include "measure/contest.hpp"

#include "heat/run.hpp"

#include <array>
#include <cstdio>
#include <string>
#include <thence/dataflow.h>
#include <thence/task_runtime.h>

namespace measure::heat_runs {

// In the order of the parameter `variant`. `mpi` and `forkjoin` are what tasks are compared with; the last one is a limit.
constexpr std::array names{"mpi", "forkjoin", "omp-tasks", "tbb", "dataflow", "two threads by hand"};
constexpr std::size_t first_with_tasks = 2, by_hand = 5;

// A plate of 512 x 512 in blocks of the default size. With the parameter `dearer`, each block of rank 1 costs so many times
// its time. With `messages` 0, each rank has its rows as a plate of its own, so there are the same tasks and no messages.
inline void one(work &work) {
    thence_task_runtime_add(thence_flow_task_runtime());
    const bool messages = work.parameter("messages") != 0;
    const auto variant = static_cast<std::size_t>(work.parameter("variant"));
    int all = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    heat::Config config;
    config.top = 100;
    config.left = 50;
    config.iterations = static_cast<int>(work.parameter("iterations"));
    config.rows /= messages ? 1 : all;
    const int ranks = messages ? all : 1, rank = messages ? work.rank() : 0;
    const heat::Partition partition(config, ranks);
    const int first = partition.first_row(rank);
    heat::Band band(config, std::nullopt, first, partition.rows_of(rank));
    apps::Recorder recorder(0);
    recorder.lane(); // this thread gets the first lane
    apps::ProgressBar bar(false, "", 1);
    apps::Imbalance imbalance;
    imbalance.factor = static_cast<double>(work.parameter("dearer"));
    imbalance.members = {messages ? 1 : 0};
    const bool dear = imbalance.factor > 1 && (messages || work.rank() == 1);
    heat::Run run{partition,
                  band,
                  messages ? MPI_COMM_WORLD : MPI_COMM_SELF,
                  rank,
                  ranks,
                  static_cast<int>(work.parameter("threads")),
                  config.iterations,
                  recorder,
                  bar,
                  dear ? &imbalance : nullptr};
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (variant == by_hand)
        solve_two_threads(run);
    else
        apps::find_variant(heat::variants(), names[variant])->solve(run);
    double took = MPI_Wtime() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    work.result("seconds", took);
    if (!messages)
        return;
    checksum field;
    for (int i = 0; i < band.rows(); ++i)
        for (int j = 0; j < config.cols; ++j)
            field.add(static_cast<std::uint64_t>(first + i) * static_cast<std::uint64_t>(config.cols) +
                          static_cast<std::uint64_t>(j),
                      band.row(i)[j]);
    work.result("checksum", field.of_all(MPI_COMM_WORLD));
}

struct shape {
    int ranks, threads;
};

inline contender run_of(session &session, std::size_t variant, shape of, long dearer, bool messages = true) {
    const job what{.work = "one",
                   .parameters = {{"variant", static_cast<long>(variant)},
                                  {"threads", of.threads},
                                  {"dearer", dearer},
                                  {"messages", messages ? 1 : 0},
                                  {"iterations", session.quick() ? 100 : 600}},
                   .environment = {"OMP_MAX_TASK_PRIORITY=2", "OMP_WAIT_POLICY=passive"},
                   .threads_per_rank = of.threads};
    return {std::string(names[variant]) + ", " + std::to_string(of.ranks) + " x " + std::to_string(of.threads),
            [&session, of, what] { return of.ranks == 1 ? session.alone(what) : session.together(of.ranks, what); }};
}

// A baseline, and what the best variant with tasks must reach against it.
struct opponent {
    std::size_t variant;
    shape of;
    double bar;
};

// The largest speed against `o` that this machine allows to the tasks of `variant`. On one rank, what two threads written by
// hand reach; else the same tasks without any message, which no coupling of tasks with MPI can surpass.
inline std::string limit_of(session &session, std::size_t variant, shape of, long dearer, const opponent &o) {
    const bool single = of.ranks == 1;
    const contest runs({run_of(session, o.variant, o.of, dearer),
                        single ? run_of(session, by_hand, of, dearer) : run_of(session, variant, of, dearer, false)},
                       session.quick() ? 3 : 9);
    char text[200];
    std::snprintf(text, sizeof text, "limit: %s is %.2f times as fast as %s",
                  single ? "a program written by hand for two threads, without tasks and MPI,"
                         : "a run of the same tasks without any message",
                  runs.speed(1, 0).value, names[o.variant]);
    return text;
}

// Adds a figure for the best variant with tasks, of shape `of`, against each opponent.
inline void compare(session &session, const std::string &situation, shape of, long dearer,
                    const std::vector<opponent> &opponents) {
    std::vector<contender> all;
    for (const opponent &o : opponents)
        all.push_back(run_of(session, o.variant, o.of, dearer));
    for (std::size_t v = first_with_tasks; v < by_hand; ++v)
        all.push_back(run_of(session, v, of, dearer));
    const contest runs(all, session.quick() ? 3 : 9);
    const std::size_t best = runs.best(opponents.size(), all.size());
    for (std::size_t o = 0; o < opponents.size(); ++o) {
        figure found = runs.compared(best, o);
        found.name = situation + ": " + found.name + ", the best with tasks";
        found.kind = bar_kind::at_least;
        found.bar = opponents[o].bar;
        if (!found.passed())
            found.note = limit_of(session, first_with_tasks + best - opponents.size(), of, dearer, opponents[o]);
        session.add(std::move(found));
    }
}

} // namespace measure::heat_runs
