// SPDX-License-Identifier: BSD-3-Clause
// bt_mz: cuts the mesh into zones, gives them to ranks, runs one variant, verifies and reports. As the official program
// does, it makes one step that is not timed, and starts again.
#include "outcome.hpp"

#include "common/program.hpp"
#include "common/simulated.hpp"
#include "common/timeline.hpp"

#include <string_view>
#ifdef BT_MZ_HAVE_TBB
#include <TAMPI.h>
#include <thence/dataflow.h>
#include <thence/task_runtime.h>
#endif

namespace bt_mz {
namespace {

void check_input(const Options &options, int ranks, MPI_Comm comm) {
    const Problem &p = options.zones ? *options.zones : *options.problem;
    if (std::string_view(options.chosen->name) == "serial" && ranks > 1) {
        throw apps::InputError("the variant serial runs on one rank; for " + std::to_string(ranks) +
                               " ranks use --variant mpi");
    }
    if (ranks > p.zones()) {
        throw apps::InputError("class " + std::string(1, p.name) + " has " + std::to_string(p.zones()) + " zones for " +
                               std::to_string(ranks) + " ranks; use at most " + std::to_string(p.zones()) +
                               " ranks, or a larger class");
    }
    apps::check_imbalance(options.imbalance, ranks, p.zones());
    apps::check_tags(comm, static_cast<long>(sides) * p.zones() - 1,
                     "the " + std::to_string(p.zones()) + " zones of this class");
}

void check_memory(const Problem &problem, const std::vector<ZoneShape> &shapes, const std::vector<int> &owner, int rank,
                  MPI_Comm comm) {
    double bytes = 0;
    for (const ZoneShape &shape : shapes) {
        bytes += owner[static_cast<std::size_t>(shape.number)] == rank ? Zone::bytes(shape) : 0;
    }
    apps::check_memory(comm, bytes, std::string("class ") + problem.name);
}

double factor_of(const Options &options, int rank, int zone) {
    if (!options.imbalance) {
        return 1;
    }
    const bool of_ranks = options.imbalance->part == apps::Imbalance::rank;
    return options.imbalance->has_member(of_ranks ? rank : zone) ? options.imbalance->factor : 1;
}

// Of all ranks; the result is that of rank 0.
Verification verify(const Options &options, const std::vector<ZoneResult> &zones) {
    if (options.zones) {
        return {Verification::unchecked, "not verified: nothing was computed, faces were exchanged", {}};
    }
    Norms residual{}, error{};
    for (const ZoneResult &z : zones) { // in the order of numbers, so that ranks change no bit
        for (std::size_t m = 0; m < components; ++m) {
            residual[m] += z.residual[m], error[m] += z.error[m];
        }
    }
    return verify(*options.problem, options.steps, options.dt, residual, error);
}

int run_variant(const Options &options, MPI_Comm comm) {
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    check_input(options, ranks, comm);
    apps::check_outputs(comm, {options.json, options.timeline});
    const Problem &problem = options.zones ? *options.zones : *options.problem;
    const Variant &variant = *options.chosen;
    const int threads = apps::choose_threads("bt_mz", variant, options.threads, rank, comm);
    const Constants constants(problem, options.dt);
    const std::vector<ZoneShape> shapes = make_zones(problem);
    const std::vector<int> owner = distribute(shapes, ranks);
    if (!apps::simulated && !options.zones) {
        check_memory(problem, shapes, owner, rank, comm);
    }
    auto zones = make_local_zones(shapes, owner, rank, constants, !options.zones);
    for (auto &z : zones) {
        z->factor = factor_of(options, rank, z->shape().number);
    }

    apps::Recorder recorder(options.timeline.empty() ? 0 : static_cast<std::size_t>(options.timeline_capacity));
    apps::ProgressBar bar(apps::draws_bar(options.progress, rank), variant.name, options.steps, "steps");
    Run run{problem, shapes, owner, zones, comm, rank, ranks, threads, options.steps, recorder, bar, options.cell_cost};
#ifdef BT_MZ_HAVE_OPENMP
    if (variant.solve == solve_omp_tasks) {
        check_omp_tasks(run);
    }
#endif
    warm_up(run, variant.solve);
    recorder.lane(); // this thread gets the first lane
    // Many messages of rank 0 with each other rank: only if somebody needs it.
    const Nanoseconds offset = options.timeline.empty() ? 0 : apps::clock_offset(comm);

    MPI_Barrier(comm);
    const double begin = MPI_Wtime();
    variant.solve(run);
    const double mine = MPI_Wtime() - begin;
    bar.clear();

    Outcome outcome{apps::gather(recorder, comm, threads, mine, variant.continuations), gather_zones(run), {}};
    if (!options.timeline.empty()) {
        apps::write_timeline(options.timeline, recorder, comm, offset, {variant.name, threads, options.steps, "side"});
    }
    int failed = 0;
    if (rank == 0) {
        outcome.verification = verify(options, outcome.zones);
        failed = outcome.verification.verdict == Verification::failed;
        print_table(run, options, outcome);
        if (!options.json.empty()) {
            write_json(run, options, outcome);
        }
    }
    MPI_Bcast(&failed, 1, MPI_INT, 0, comm);
    return failed ? apps::wrong_result : apps::success;
}

int run_program(const Options &options) {
#ifdef BT_MZ_HAVE_TBB
    // TAMPI asks in MPI_Init_thread which runtimes there are. The other variants need nothing that it starts.
    TAMPI_Property_set(TAMPI_PROPERTY_AUTO_INIT, options.chosen->tampi ? 1 : 0);
    thence_task_runtime_add(thence_flow_task_runtime());
#endif
    return apps::run_with_mpi("bt_mz", *options.chosen, "mpi",
                              [&](MPI_Comm comm) { return run_variant(options, comm); });
}

} // namespace
} // namespace bt_mz

int main(int argc, char **argv) {
    int status = apps::success;
    const auto options = bt_mz::parse_options(argc, argv, status);
    if (!options) {
        return status;
    }
    bt_mz::restart_with_openmp_settings(argv, *options);
    return bt_mz::run_program(*options);
}
