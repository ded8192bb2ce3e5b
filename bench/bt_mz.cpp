// SPDX-License-Identifier: BSD-3-Clause
// NPB BT-MZ (apps/bt_mz), class W: the variants with continuations compared with fork-join. Fork-join runs twice, with
// threads that spin and with threads that sleep at barriers, and the faster run counts. Beside each bar stands what
// plain MPI reaches in the same order, by MPI_Waitsome, and the limit: what the slowest rank computes, as the zones
// report it.
#include "judges/bt_mz.hpp"
#include "measure/benchmark.hpp"
#include "measure/checksum.hpp"

#include "bt_mz/run.hpp"

#include <string>
#include <thence/dataflow.h>
#include <thence/task_runtime.h>

namespace {

using namespace measure::bt_mz_runs;

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
    double computed = 0; // if all threads of a rank always computed
    for (const auto &z : zones) {
        computed += 1e-9 * static_cast<double>(z->compute.load()) / run.threads;
    }
    MPI_Allreduce(MPI_IN_PLACE, &computed, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    work.result("compute_seconds", computed);
    // The norms have all values of a zone, and do not depend on the ranks.
    measure::checksum norms;
    for (const auto &z : zones) {
        const bt_mz::Norms error = z->zone.error_norms();
        for (std::size_t m = 0; m < error.size(); ++m) {
            norms.add(static_cast<std::uint64_t>(z->shape().number) * error.size() + m, error[m]);
        }
    }
    work.result("checksum", norms.of_all(MPI_COMM_WORLD));
}

// Runs all variants alternately, and adds a figure for each against fork-join. Each variant has the thread level that
// the application asks for.
void compare(measure::session &session, const shape &of) {
    const int steps = session.quick() ? 20 : 60;
    const auto run = [&](std::size_t v, const std::string &waiting) {
        const measure::job job{
            .work = "one",
            .threads = v == fork_join          ? measure::level::funneled
                       : v >= first_with_tasks ? measure::level::multiple
                                               : measure::level::single,
            .parameters = {{"variant", static_cast<long>(v)}, {"threads", of.threads}, {"steps", steps}},
            .environment = {"OMP_MAX_TASK_PRIORITY=2", "OMP_WAIT_POLICY=" + waiting},
            .threads_per_rank = of.threads};
        return !of.delay.empty() ? session.on_two_hosts(of.delay, job)
               : of.ranks == 1   ? session.alone(job)
                                 : session.together(of.ranks, job);
    };
    const std::string shape_text = ", " + std::to_string(of.ranks) + " x " + std::to_string(of.threads) +
                                   (of.delay.empty() ? "" : ", two hosts, delay " + of.delay);
    std::vector<measure::contender> all;
    all.push_back({"fork-join on the same cores", [&] {
                       measure::numbers passive = run(fork_join, "passive");
                       if (of.threads == 1) {
                           return passive;
                       }
                       measure::numbers active = run(fork_join, "active");
                       return active.at("seconds") < passive.at("seconds") ? active : passive;
                   }});
    for (std::size_t v = first_variant(of); v < names.size(); ++v) {
        all.push_back({names[v] + shape_text, [&run, v] { return run(v, "passive"); }});
    }
    const measure::contest runs(all, session.quick() ? 3 : 9);
    for (measure::figure &found : figures_of(runs, of, steps)) {
        session.add(std::move(found));
    }
}

void judge(measure::session &session) {
    compare(session, {.ranks = 2, .threads = 1});
    compare(session, {.ranks = 1, .threads = 2});
    if (const std::string why = session.why_no_two_hosts(); !why.empty()) {
        session.skip("two hosts with a delay of 300 us: not measured, it " + why);
    } else {
        compare(session, {.ranks = 2, .threads = 1, .delay = "300us", .bar = 1.05});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "bt_mz",
                          .about = "NPB BT-MZ class W, ranks x threads: callbacks, OpenMP tasks and data-flow tasks "
                                   "compared with fork-join",
                          .bars =
                              "the best with continuations and the best with tasks at least 1.0 times the speed, with "
                              "300 us delay between two hosts 1.05 times",
                          .pieces = {{"one", one}},
                          .judge = judge});
}
