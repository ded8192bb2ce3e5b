// SPDX-License-Identifier: BSD-3-Clause
// NPB BT-MZ (apps/bt_mz), class W: the variants with tasks compared with fork-join. Fork-join runs twice, with threads that
// spin and with threads that sleep at barriers, and the faster run counts.
#include "measure/benchmark.hpp"
#include "measure/checksum.hpp"
#include "measure/contest.hpp"

#include "bt_mz/run.hpp"

#include <string>
#include <thence/dataflow.h>
#include <thence/task_runtime.h>

namespace {

// In the order of the parameter `variant`.
constexpr const char *names[] = {"forkjoin", "mpi", "omp-tasks", "dataflow"};

void one(measure::work &work) {
    const bt_mz::Problem &problem = *bt_mz::find_problem("W");
    const auto solve = apps::find_variant(bt_mz::variants(), names[work.parameter("variant")])->solve;
    thence_task_runtime_add(thence_flow_task_runtime());
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const bt_mz::Constants constants(problem, problem.dt);
    const auto shapes = bt_mz::make_zones(problem);
    const auto owner = bt_mz::distribute(shapes, ranks);
    auto zones = bt_mz::make_local_zones(shapes, owner, work.rank(), constants);
    apps::Recorder recorder(0);
    apps::ProgressBar bar(false, "", 1);
    bt_mz::Run run{problem,
                   shapes,
                   owner,
                   zones,
                   MPI_COMM_WORLD,
                   work.rank(),
                   ranks,
                   static_cast<int>(work.parameter("threads")),
                   static_cast<int>(work.parameter("steps")),
                   recorder,
                   bar};
    bt_mz::warm_up(run, solve);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    solve(run);
    double took = MPI_Wtime() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    work.result("seconds", took);
    // The norms have all values of a zone, and do not depend on the ranks.
    measure::checksum norms;
    for (const auto &z : zones) {
        const bt_mz::Norms error = z->zone.error_norms();
        for (std::size_t m = 0; m < error.size(); ++m)
            norms.add(static_cast<std::uint64_t>(z->shape().number) * error.size() + m, error[m]);
    }
    work.result("checksum", norms.of_all(MPI_COMM_WORLD));
}

struct shape {
    int ranks, threads;
    std::string delay = {}; // between two hosts with a rank each; empty: all ranks on this machine
    double bar = 1.0;
};

// Runs all variants alternately, and adds a figure for each against fork-join; the best with tasks has the bar.
void compare(measure::session &session, const shape &of) {
    const int steps = session.quick() ? 20 : 60;
    const auto run = [&](std::size_t v, const std::string &waiting) {
        const measure::job job{
            .work = "one",
            .parameters = {{"variant", static_cast<long>(v)}, {"threads", of.threads}, {"steps", steps}},
            .environment = {"OMP_MAX_TASK_PRIORITY=1", "OMP_WAIT_POLICY=" + waiting},
            .threads_per_rank = of.threads};
        return !of.delay.empty() ? session.on_two_hosts(of.delay, job)
               : of.ranks == 1   ? session.alone(job)
                                 : session.together(of.ranks, job);
    };
    const std::string shape_text = ", " + std::to_string(of.ranks) + " x " + std::to_string(of.threads) +
                                   (of.delay.empty() ? "" : ", two hosts, delay " + of.delay);
    std::vector<measure::contender> all;
    all.push_back({"fork-join on the same cores", [&] {
                       measure::numbers passive = run(0, "passive");
                       if (of.threads == 1)
                           return passive;
                       measure::numbers active = run(0, "active");
                       return active.at("seconds") < passive.at("seconds") ? active : passive;
                   }});
    const std::size_t first = of.threads > 1 ? 2 : 1; // the variant mpi has one thread per rank
    for (std::size_t v = first; v < std::size(names); ++v)
        all.push_back({names[v] + shape_text, [&run, v] { return run(v, "passive"); }});
    const measure::contest runs(all, session.quick() ? 3 : 9);
    const std::size_t best = runs.best(3 - first, all.size());
    for (std::size_t c = 1; c < all.size(); ++c) {
        measure::figure found = runs.compared(c, 0, steps);
        if (c == best) {
            found.name += ", the best with tasks";
            found.kind = measure::bar_kind::at_least;
            found.bar = of.bar;
        }
        session.add(std::move(found));
    }
}

void judge(measure::session &session) {
    compare(session, {.ranks = 2, .threads = 1});
    compare(session, {.ranks = 1, .threads = 2});
    if (const std::string why = session.why_no_two_hosts(); !why.empty())
        session.skip("two hosts with a delay of 300 us: not measured, it " + why);
    else
        compare(session, {.ranks = 2, .threads = 1, .delay = "300us", .bar = 1.05});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "bt_mz",
                          .about = "NPB BT-MZ class W, ranks x threads: OpenMP tasks and data-flow tasks compared with "
                                   "fork-join",
                          .bars = "the best with tasks at least 1.0 times the speed, with 300 us delay between two "
                                  "hosts 1.05 times",
                          .pieces = {{"one", one}},
                          .judge = judge});
}
