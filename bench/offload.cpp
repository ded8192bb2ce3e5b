// SPDX-License-Identifier: BSD-3-Clause
// The application offload (apps/offload) on two ranks with a thread each, of which one is uneven: tasks that move by
// continuations compared with tasks that stay, and with the manager of requests that workers poll, the best of several
// windows. Each run is processes of its own, and the variants alternate.
//
// The limit is measured where tasks stay: how long both ranks would compute the same tasks if these were divided
// between them without a rest, at once and without messages. Where a rank is slow, tasks that move cost less; where its
// tasks are dear, they cost the same elsewhere.
#include "judges/offload.hpp"
#include "measure/benchmark.hpp"

#include "offload/polling_manager.hpp"
#include "offload/variants.hpp"

#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr std::array solvers{offload::solve_none, offload::solve_polling, offload::solve_continuations};
constexpr std::size_t none = 0, polling = 1, continuations = 2;
constexpr std::array windows{0, 4, 32}; // of polling; 0: all requests

// From what each rank has computed of its own tasks in each step.
double least_seconds(const offload::Run &run) {
    std::vector<double> mine;
    mine.reserve(run.steps.size());
    for (const thence::offload_step &step : run.steps) {
        mine.push_back(step.computed);
    }
    const auto ranks = static_cast<std::size_t>(run.ranks);
    std::vector<double> all(mine.size() * ranks);
    const int steps = static_cast<int>(mine.size());
    MPI_Allgather(mine.data(), steps, MPI_DOUBLE, all.data(), steps, MPI_DOUBLE, run.comm);
    double least = 0;
    for (std::size_t step = 0; step < mine.size(); ++step) {
        double sum = 0, speed = 0; // all ranks have as many tasks
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const double computed = all[rank * mine.size() + step];
            sum += computed, speed += 1 / computed;
        }
        least += run.settings.uneven.slow_rank ? run.ranks / speed : sum / run.ranks;
    }
    return least;
}

void one(measure::work &work) {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    offload::Settings settings;
    settings.cells = static_cast<int>(work.parameter("cells"));
    settings.steps = static_cast<int>(work.parameter("steps"));
    settings.task_seconds = static_cast<double>(work.parameter("task_us")) * 1e-6;
    settings.uneven = {static_cast<double>(work.parameter("factor")),
                       work.parameter("slow_rank") != 0,
                       {0},
                       static_cast<int>(work.parameter("every"))};
    double rounds = offload::measure_rounds(settings.values);
    MPI_Allreduce(MPI_IN_PLACE, &rounds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    offload::Cells cells(settings, work.rank(), ranks, rounds);
    apps::ProgressBar bar(false, "", 1);
    offload::Run run{MPI_COMM_WORLD, work.rank(), ranks, 1, settings, {}, cells, bar};
    const auto variant = static_cast<std::size_t>(work.parameter("variant"));
    offload::PollingManager::window = static_cast<int>(work.parameter("window"));
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    solvers[variant](run);
    double seconds = MPI_Wtime() - begin;
    if (!run.wrong.empty()) {
        std::fprintf(stderr, "offload: rank %d: %s\n", work.rank(), run.wrong.c_str());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    work.result("seconds", seconds);
    if (variant == none) {
        work.result("compute_seconds", least_seconds(run));
    }
}

struct situation {
    const char *name;
    bool slow_rank;
    bool changes; // twice in a run, once in a quick one
    long cells = 40, task_us = 500, factor = 2;
    int part = 1; // of the steps of the others, where a step takes longer
};

void compare(measure::session &session, const situation &in) {
    const long steps = session.quick() ? 20 : 60 / in.part;
    const long until_change = session.quick() ? 10 : steps / 3; // a quota takes about four steps to follow
    const auto runs = [&](std::size_t variant, int window = 0) {
        return [&session, &in, variant, window, steps, until_change] {
            return session.together(2,
                                    {.work = "one",
                                     .threads = variant == none ? measure::level::funneled : measure::level::multiple,
                                     .parameters = {{"variant", static_cast<long>(variant)},
                                                    {"window", window},
                                                    {"steps", steps},
                                                    {"slow_rank", in.slow_rank ? 1 : 0},
                                                    {"cells", in.cells},
                                                    {"task_us", in.task_us},
                                                    {"factor", in.factor},
                                                    {"every", in.changes ? until_change : 0}}});
        };
    };
    std::vector<measure::contender> all{{"none", runs(none)}, {"continuations", runs(continuations)}};
    for (const int window : windows) {
        all.push_back({window == 0 ? "polling, all requests" : "polling, window " + std::to_string(window),
                       runs(polling, window)});
    }
    const measure::contest found(all, session.quick() ? 2 : 5);
    for (measure::figure &each : measure::offload_runs::figures_of(found, all.size(), in.name)) {
        session.add(std::move(each));
    }
}

void judge(measure::session &session) {
    for (const situation &in :
         {situation{"a rank 2 times slower", true, false}, situation{"the slow rank changes", true, true},
          situation{"cells of a rank 2 times dearer", false, false},
          // More should move than may be in flight: what that costs after a change.
          situation{"600 cells, the slow rank changes", true, true, 600, 100, 3, 2}}) {
        compare(session, in);
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "offload",
         .about = "tasks that move between two ranks by continuations, compared with tasks that stay and "
                  "with groups of requests that are polled",
         .bars = "at most 0.75 times the time of tasks that stay, 0.95 times that of polling with the best window",
         .pieces = {{"one", one}},
         .judge = judge});
}
