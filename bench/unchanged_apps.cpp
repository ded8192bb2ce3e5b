// SPDX-License-Identifier: BSD-3-Clause
// The variants with MPI alone of two applications, in a program that is not linked with Thence: work of the benchmarks
// overlap_cost and oversubscribed.
#include "measure/benchmark.hpp"
#include "measure/slowest.hpp"

#include "bt_mz/run.hpp"
#include "heat/run.hpp"

#include <mpi.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace {

int number_of_ranks() {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return ranks;
}

// NPB BT-MZ class W.
void solve_zones(measure::work &work) {
    const bt_mz::Problem &problem = *bt_mz::find_problem("W");
    const int ranks = number_of_ranks();
    const bt_mz::Constants constants(problem, problem.dt);
    const auto shapes = bt_mz::make_zones(problem);
    const auto owner = bt_mz::distribute(shapes, ranks);
    auto zones = bt_mz::make_local_zones(shapes, owner, work.rank(), constants);
    apps::Recorder recorder(0);
    apps::ProgressBar bar(false, "", 1);
    const auto steps = static_cast<int>(work.parameter("steps"));
    bt_mz::Run run{problem, shapes, owner, zones, MPI_COMM_WORLD, work.rank(), ranks, 1, steps, recorder, bar};
    bt_mz::warm_up(run, bt_mz::solve_mpi);
    work.result("seconds", measure::seconds_of_slowest(MPI_COMM_WORLD, [&] { bt_mz::solve_mpi(run); }));
}

// A plate of 512 x 512, in blocks of the default size or of the largest with which each rank has one.
void solve_plate(measure::work &work) {
    heat::Config config;
    config.top = 100;
    config.left = 50;
    config.iterations = static_cast<int>(work.parameter("iterations"));
    const int ranks = number_of_ranks();
    config.block = std::clamp(config.rows / ranks, 1, config.block);
    const heat::Partition partition(config, ranks);
    const int first = partition.first_row(work.rank());
    apps::Recorder recorder(0);
    recorder.lane(); // this thread gets the first lane
    apps::ProgressBar bar(false, "", 1);
    std::vector<double> seconds;
    for (int i = 0; i < 3; ++i) {
        heat::Band band(config, std::nullopt, first, partition.rows_of(work.rank()));
        heat::Run run{partition, band, MPI_COMM_WORLD, work.rank(), ranks, 1, config.iterations, recorder, bar};
        seconds.push_back(measure::seconds_of_slowest(MPI_COMM_WORLD, [&] { heat::solve_mpi(run); }));
    }
    work.result("seconds", measure::median_of(seconds).value);
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "unchanged_apps",
                          .about = "BT-MZ and heat by MPI alone, for overlap_cost and oversubscribed",
                          .bars = "none",
                          .pieces = {{"bt_mz", solve_zones}, {"heat", solve_plate}},
                          .judge = [](measure::session &session) { session.skip("it is work of other benchmarks"); }});
}
