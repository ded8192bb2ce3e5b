// SPDX-License-Identifier: BSD-3-Clause
// Runs of the variants of heat (apps/heat), and the limits that are printed beside a bar that is missed.
#pragma once

#include "heat/two_threads.hpp"
#include "judges/heat.hpp"
#include "measure/benchmark.hpp"
#include "measure/checksum.hpp"

#include "heat/run.hpp"

#include <array>
#include <cstdio>
#include <string>
#include <thence/dataflow.h>
#include <thence/task_runtime.h>

namespace measure::heat_runs {

// In the order of the parameter `variant`. `mpi` and `forkjoin` are what tasks are compared with; the last one is a
// limit.
constexpr std::array names{"mpi", "forkjoin", "omp-tasks", "tbb", "dataflow", "two threads by hand"};
constexpr std::size_t mpi_only = 0, fork_join = 1, first_with_tasks = 2, by_hand = 5;

inline std::string text_of(shape of) {
    return std::to_string(of.ranks) + " x " + std::to_string(of.threads);
}

// The cells of this rank that cost more. Variants sweep other tiles, each of which costs more or not as a whole: `mpi`
// a column of blocks over the whole band, two threads by hand half of it, tasks and fork-join a block.
inline double dearer_cells(const heat::Run &run, std::size_t variant) {
    const int rows = run.band.rows(), tile_rows = variant == mpi_only  ? rows
                                                  : variant == by_hand ? rows / 2
                                                                       : run.partition.block;
    double cells = 0;
    for (int row = 0; row < rows; row += tile_rows) {
        for (int k = 0; k < run.block_cols(); ++k) {
            const heat::Tile tile{row, std::min(row + tile_rows, rows), run.col0(k), run.col1(k)};
            if (run.dearness(tile) > 1) {
                cells += static_cast<double>(tile.row1 - tile.row0) * (tile.col1 - tile.col0);
            }
        }
    }
    return cells;
}

// What must be the same in all variants: the values, and the part of the work that costs more.
inline void report_work(work &work, heat::Run &run, std::size_t variant) {
    const auto first = static_cast<std::uint64_t>(run.partition.first_row(run.rank)),
               cols = static_cast<std::uint64_t>(run.band.cols());
    checksum field;
    for (int i = 0; i < run.band.rows(); ++i) {
        for (std::uint64_t j = 0; j < cols; ++j) {
            field.add((first + static_cast<std::uint64_t>(i)) * cols + j, run.band.row(i)[j]);
        }
    }
    work.result("checksum", field.of_all(run.comm));
    double cells = run.imbalance != nullptr ? dearer_cells(run, variant) : 0;
    MPI_Allreduce(MPI_IN_PLACE, &cells, 1, MPI_DOUBLE, MPI_SUM, run.comm);
    work.result("dearer_cells", cells);
}

constexpr int repeats = 3; // in each process; the median counts

// A plate of 512 x 512 in blocks of the default size. With the parameter `dearer`, the lower half costs so many times
// its time, whichever ranks have it. With `messages` 0, each rank has its rows as a plate of its own, so there are the
// same tasks and no messages; nothing is dearer then.
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
    apps::Recorder recorder(0); // one for all runs: threads of a runtime outlive a run, and keep their lane
    recorder.lane();            // this thread gets the first lane
    apps::ProgressBar bar(false, "", 1);
    apps::Imbalance imbalance;
    imbalance.factor = static_cast<double>(work.parameter("dearer"));
    imbalance.part = apps::Imbalance::area;
    imbalance.y0 = 0.5;
    std::vector<double> seconds;
    for (int i = 0; i < repeats; ++i) {
        heat::Band band(config, std::nullopt, first, partition.rows_of(rank));
        heat::Run run{partition,
                      band,
                      messages ? MPI_COMM_WORLD : MPI_COMM_SELF,
                      rank,
                      ranks,
                      static_cast<int>(work.parameter("threads")),
                      config.iterations,
                      recorder,
                      bar,
                      imbalance.factor > 1 ? &imbalance : nullptr};
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        if (variant == by_hand) {
            solve_two_threads(run);
        } else {
            apps::find_variant(heat::variants(), names[variant])->solve(run);
        }
        double took = MPI_Wtime() - begin;
        MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        seconds.push_back(took);
        if (messages) {
            report_work(work, run, variant);
        }
    }
    work.result("seconds", median_of(seconds).value);
}

inline contender run_of(session &session, std::size_t variant, shape of, long dearer, bool messages = true) {
    const job what{
        .work = "one",
        .threads = variant == mpi_only    ? level::single // the level that the application asks for
                   : variant == fork_join ? level::funneled
                                          : level::multiple,
        .parameters = {{"variant", static_cast<long>(variant)},
                       {"threads", of.threads},
                       {"dearer", dearer},
                       {"messages", messages ? 1 : 0},
                       {"iterations", dearer > 1 ? 150 : 300}},
        .environment = {"OMP_MAX_TASK_PRIORITY=2",
                        // Fork-join waits for its own threads only, so they may keep their processors.
                        variant == fork_join && of.ranks == 1 ? "OMP_WAIT_POLICY=active" : "OMP_WAIT_POLICY=passive"},
        .threads_per_rank = of.threads};
    return {std::string(names[variant]) + ", " + text_of(of),
            [&session, of, what] { return of.ranks == 1 ? session.alone(what) : session.together(of.ranks, what); }};
}

inline int rounds(const session &session) {
    return session.quick() ? 3 : 5;
}

// The largest speed against `o` that this machine allows to the tasks of `variant`. Where work is imbalanced: two
// processors share without any loss what one takes for the same tasks. On one rank: what two threads written by hand
// reach. Else: what the same tasks reach without any message.
inline limit measured_limit(session &session, std::size_t variant, shape of, long dearer, const opponent &o) {
    const bool single = of.ranks == 1;
    contender possible = dearer > 1 ? run_of(session, variant, {.ranks = 1, .threads = 1}, dearer)
                         : single   ? run_of(session, by_hand, of, dearer)
                                    : run_of(session, variant, of, dearer, false);
    const contest runs({run_of(session, o.variant, o.of, dearer), possible}, rounds(session));
    return {.what = dearer > 1 ? "half of the time of the same tasks on one processor"
                    : single   ? "a program written by hand for two threads, without tasks and MPI"
                               : "the same tasks without any message",
            .value = runs.speed(1, 0).value * (dearer > 1 ? 2 : 1)};
}

// Runs the variants with tasks in each of these shapes, which use the same processors, and adds the figures. Bars are
// for the first shape.
inline void compare(session &session, const std::string &situation, const std::vector<shape> &shapes, long dearer,
                    const std::vector<opponent> &opponents) {
    std::vector<contender> all;
    all.reserve(opponents.size() + shapes.size() * (by_hand - first_with_tasks));
    for (const opponent &o : opponents) {
        all.push_back(run_of(session, o.variant, o.of, dearer));
    }
    const std::size_t first = opponents.size(), variants = by_hand - first_with_tasks;
    for (const shape &of : shapes) {
        for (std::size_t v = first_with_tasks; v < by_hand; ++v) {
            all.push_back(run_of(session, v, of, dearer));
        }
    }
    const contest runs(all, rounds(session));
    const auto limit_of_contender = [&](std::size_t c, const opponent &o) {
        return measured_limit(session, first_with_tasks + (c - first) % variants, shapes[(c - first) / variants],
                              dearer, o);
    };
    for (figure &found : figures_of(runs, situation, opponents, shapes, variants, limit_of_contender)) {
        session.add(std::move(found));
    }
}

} // namespace measure::heat_runs
