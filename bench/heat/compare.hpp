// SPDX-License-Identifier: BSD-3-Clause
// Runs of the variants of heat (apps/heat). Each run is a process of its own, so that idle threads of one runtime take no
// time from another, and the variants alternate, so that a disturbance affects all.
#pragma once

#include "measure/benchmark.hpp"

#include "heat/run.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <thence/dataflow.h>
#include <thence/task_runtime.h>

namespace measure::heat_runs {

// In the order of the parameter `variant`. `mpi` and `forkjoin` are what tasks are compared with.
constexpr std::array names{"mpi", "forkjoin", "omp-tasks", "tbb", "dataflow"};
constexpr std::size_t first_with_tasks = 2;

// A plate of 512 x 512 in blocks of the default size. With the parameter `dearer`, each block of rank 1 costs so many times
// its time.
inline void one(work &work) {
    thence_task_runtime_add(thence_flow_task_runtime());
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    heat::Config config;
    config.top = 100;
    config.left = 50;
    config.iterations = static_cast<int>(work.parameter("iterations"));
    const heat::Partition partition(config, ranks);
    heat::Band band(config, std::nullopt, partition.first_row(work.rank()), partition.rows_of(work.rank()));
    apps::Recorder recorder(0);
    recorder.lane(); // this thread gets the first lane
    apps::ProgressBar bar(false, "", 1);
    apps::Imbalance imbalance;
    imbalance.factor = static_cast<double>(work.parameter("dearer"));
    imbalance.members = {1};
    heat::Run run{partition,
                  band,
                  MPI_COMM_WORLD,
                  work.rank(),
                  ranks,
                  static_cast<int>(work.parameter("threads")),
                  config.iterations,
                  recorder,
                  bar,
                  imbalance.factor > 1 ? &imbalance : nullptr};
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    heat::find_variant(names[static_cast<std::size_t>(work.parameter("variant"))])->solve(run);
    double took = MPI_Wtime() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    work.result("seconds", took);
}

struct shape {
    int ranks, threads;
};

inline double seconds_of(session &session, std::size_t variant, shape of, long dearer) {
    const job what{.work = "one",
                   .parameters = {{"variant", static_cast<long>(variant)},
                                  {"threads", of.threads},
                                  {"dearer", dearer},
                                  {"iterations", session.quick() ? 100 : 600}},
                   .environment = {"OMP_MAX_TASK_PRIORITY=2", "OMP_WAIT_POLICY=passive"},
                   .threads_per_rank = of.threads};
    return (of.ranks == 1 ? session.alone(what) : session.together(of.ranks, what)).at("seconds");
}

// A baseline, and what the best variant with tasks must reach against it.
struct opponent {
    std::size_t variant;
    shape of;
    double bar;
};

// Adds a figure for the best variant with tasks, of shape `of`, against each opponent.
inline void compare(session &session, const std::string &situation, shape of, long dearer,
                    const std::vector<opponent> &opponents) {
    const int rounds = session.quick() ? 3 : 9;
    std::map<std::size_t, std::vector<double>> with_tasks;
    std::vector<std::vector<double>> baselines(opponents.size());
    for (int i = 0; i < rounds; ++i) {
        for (std::size_t o = 0; o < opponents.size(); ++o)
            baselines[o].push_back(seconds_of(session, opponents[o].variant, opponents[o].of, dearer));
        for (std::size_t v = first_with_tasks; v < names.size(); ++v)
            with_tasks[v].push_back(seconds_of(session, v, of, dearer));
    }
    std::size_t best = first_with_tasks;
    for (const auto &[v, seconds] : with_tasks)
        if (median_of(seconds).value < median_of(with_tasks[best]).value)
            best = v;
    for (std::size_t o = 0; o < opponents.size(); ++o) {
        std::vector<double> ratios;
        for (std::size_t i = 0; i < baselines[o].size(); ++i)
            ratios.push_back(baselines[o][i] / with_tasks[best][i]);
        const auto text = [](std::size_t v, shape s) {
            return std::string(names[v]) + ", " + std::to_string(s.ranks) + " x " + std::to_string(s.threads);
        };
        session.add({.name = situation + ": " + text(best, of) + ", the best with tasks",
                     .found = median_of(ratios),
                     .unit = "times the speed",
                     .kind = bar_kind::at_least,
                     .bar = opponents[o].bar,
                     .against = text(opponents[o].variant, opponents[o].of),
                     .side_unit = "milliseconds",
                     .ours = 1e3 * median_of(with_tasks[best]).value,
                     .baseline = 1e3 * median_of(baselines[o]).value});
    }
}

} // namespace measure::heat_runs
