// SPDX-License-Identifier: BSD-3-Clause
// The application offload (apps/offload) on two ranks with a thread each, of which one is uneven: tasks that move by
// continuations compared with tasks that stay, and with the manager of requests that workers poll. Each run is processes of
// its own, and the variants alternate.
//
// Where a rank is slow, tasks that move cost less: 2/3 of the time is the least. Where its tasks are dear, they cost the same
// elsewhere: 3/4 is the least. Both limits hold for two ranks and any number of tasks.
#include "measure/benchmark.hpp"
#include "measure/contest.hpp"
#include "measure/limit.hpp"

#include "offload/variants.hpp"

#include <array>
#include <cstdio>

namespace {

constexpr std::array solvers{offload::solve_none, offload::solve_polling, offload::solve_continuations};
constexpr std::size_t none = 0, polling = 1, continuations = 2;

void one(measure::work &work) {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    offload::Settings settings;
    settings.cells = 40;
    settings.steps = static_cast<int>(work.parameter("steps"));
    settings.task_seconds = 500e-6;
    settings.uneven = {2, work.parameter("slow_rank") != 0, 0, static_cast<int>(work.parameter("every"))};
    double rounds = offload::measure_rounds(settings.values);
    MPI_Allreduce(MPI_IN_PLACE, &rounds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    offload::Cells cells(settings, work.rank(), ranks, rounds);
    apps::ProgressBar bar(false, "", 1);
    offload::Run run{MPI_COMM_WORLD, work.rank(), ranks, 1, settings, {}, cells, bar};
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    solvers[static_cast<std::size_t>(work.parameter("variant"))](run);
    double seconds = MPI_Wtime() - begin;
    if (!run.wrong.empty()) {
        std::fprintf(stderr, "offload: rank %d: %s\n", work.rank(), run.wrong.c_str());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    work.result("seconds", seconds);
}

struct situation {
    const char *name;
    bool slow_rank;
    bool changes; // twice in a run
    double least; // of the time of tasks that stay
};

void compare(measure::session &session, const situation &in) {
    const long steps = session.quick() ? 20 : 60;
    const auto runs = [&](std::size_t variant) {
        return [&session, &in, variant, steps] {
            return session.together(2,
                                    {.work = "one",
                                     .threads = variant == none ? measure::level::funneled : measure::level::multiple,
                                     .parameters = {{"variant", static_cast<long>(variant)},
                                                    {"steps", steps},
                                                    {"slow_rank", in.slow_rank ? 1 : 0},
                                                    {"every", in.changes ? steps / 3 : 0}}});
        };
    };
    const measure::contest found(
        {{"none", runs(none)}, {"polling", runs(polling)}, {"continuations", runs(continuations)}},
        session.quick() ? 2 : 5);
    for (const std::size_t against : {none, polling}) {
        measure::figure figure = found.compared(continuations, against);
        const measure::sample speed = figure.found;
        figure.found = {1 / speed.value, 1 / speed.high, 1 / speed.low};
        figure.name = std::string(in.name) + (against == none ? ", against tasks that stay" : ", against polling");
        figure.unit = "of the time";
        figure.kind = measure::bar_kind::at_most;
        figure.bar = against == none ? 0.75 : 0.95;
        if (against == none) {
            measure::add_limit(figure, {.what = "work that is divided without a rest, at once and without messages",
                                        .value = in.least});
        } else {
            measure::add_no_limit(figure, "both compute the same tasks; polling loses only what it notices late");
        }
        session.add(figure);
    }
}

void judge(measure::session &session) {
    for (const situation &in : {situation{"a rank 2 times slower", true, false, 2.0 / 3},
                                situation{"the slow rank changes twice", true, true, 2.0 / 3},
                                situation{"cells of a rank 2 times dearer", false, false, 0.75}}) {
        compare(session, in);
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "offload",
                          .about =
                              "tasks that move between two ranks by continuations, compared with tasks that stay and "
                              "with groups of requests that are polled",
                          .bars = "at most 0.75 times the time of tasks that stay, 0.95 times that of polling",
                          .pieces = {{"one", one}},
                          .judge = judge});
}
