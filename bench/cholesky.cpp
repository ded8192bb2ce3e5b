// SPDX-License-Identifier: BSD-3-Clause
// A tiled Cholesky factorization: a graph of senders over the pools, compared with blocking MPI and OpenMP loops. Both
// do the same steps with the same kernels on the same tiles. Senders run on a flat grid of ranks, where the ranks
// compute the panels in turn. Loops wait for each panel; they run on both shapes of grid, and the faster one counts.
// Repetitions of both alternate within one run.
#include "measure/benchmark.hpp"
#include "measure/busy_processes.hpp"
#include "measure/slowest.hpp"

#include "cholesky/by_fork_join.hpp"
#include "cholesky/by_senders.hpp"
#include "cholesky/check.hpp"
#include "cholesky/cores.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// A matrix on a grid with `rows` rows of ranks, and storage for its factor.
struct distributed_problem {
    distributed_problem(int rows, int order, int edge)
        : grid(MPI_COMM_WORLD, rows), a(grid, order, edge), l(grid, order, edge) {
        a.fill([order](int row, int column) { return cholesky::dominant_diagonal(order, row, column); });
    }
    // Seconds of one factorization.
    template <class Algorithm> double run(Algorithm &algorithm, bool check) {
        l.restore(a.elements());
        const double took = measure::seconds_of_slowest(grid.all(), [&] { algorithm.run(); });
        if (check) {
            if (const double off = cholesky::residual(a, l); !(off < 1)) {
                throw std::runtime_error("L L^T differs from A by " + std::to_string(off) +
                                         " times the order times the rounding error");
            }
        }
        return took;
    }
    cholesky::grid grid;
    cholesky::matrix a;
    cholesky::matrix l;
};

void both(measure::work &work) {
    const int threads = static_cast<int>(work.parameter("threads"));
    const int order = static_cast<int>(work.parameter("order"));
    const int edge = static_cast<int>(work.parameter("edge"));
    const int rounds = work.quick() ? 41 : 301;
    cholesky::one_thread_per_kernel();
    int shape[2] = {0, 0}; // rows of the tall grid, rows of the flat grid
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, shape);
    distributed_problem flat(shape[1], order, edge);
    distributed_problem tall(shape[0], order, edge);
    thence::pools pools({.workers = threads - 1}); // the waiting thread is the other one
    const cholesky::cores cores(threads);
    const cholesky::pinned_workers pinned(pools.arena(), cores);
    cores.bind(0);
    cholesky::by_senders senders(flat.l, pools);
    cholesky::by_fork_join loops_flat(flat.l, threads);
    cholesky::by_fork_join loops_tall(tall.l, threads);

    std::vector<double> on_flat;
    std::vector<double> on_tall;
    std::vector<double> ours;
    double spent = 0; // seconds; the same on all ranks
    for (int i = -2; i < rounds && (i < 9 || spent < 3); ++i) {
        const bool check = i % 100 == 0 || i < -1;
        std::optional<cholesky::openmp_team> team(std::in_place, threads, cores);
        const double with_flat = flat.run(loops_flat, check);
        const double with_tall = ranks == 1 ? with_flat : tall.run(loops_tall, check);
        team.reset();
        const double with_senders = flat.run(senders, check);
        spent += with_flat + with_tall + with_senders;
        if (i >= 0) { // the first two are warm-ups
            on_flat.push_back(with_flat);
            on_tall.push_back(with_tall);
            ours.push_back(with_senders);
        }
    }
    const std::vector<double> &base =
        measure::median_of(on_tall).value < measure::median_of(on_flat).value ? on_tall : on_flat;
    std::vector<double> ratios;
    ratios.reserve(base.size());
    for (std::size_t i = 0; i < base.size(); ++i) {
        ratios.push_back(base[i] / ours[i]);
    }
    work.result("ratio", measure::median_of(ratios).value);
    work.result("fork_join", measure::median_of(base).value * 1e3);
    work.result("senders", measure::median_of(ours).value * 1e3);
}

// This size of tiles is close to the best for both sides.
void judge(measure::session &session) {
    constexpr long order = 576;
    constexpr long edge = 96;
    struct layout {
        int ranks;
        long threads;
        std::string name;
    };
    const auto compare = [&](const layout &where, const std::string &beside, double bar,
                             const std::vector<std::string> &environment) {
        const measure::job job{.work = "both",
                               .parameters = {{"threads", where.threads}, {"order", order}, {"edge", edge}},
                               .environment = environment};
        std::vector<double> ratios;
        std::vector<double> fork_join;
        std::vector<double> senders;
        for (int i = 0; i < (session.quick() ? 1 : 5); ++i) {
            // A single rank is started without the launcher, since that would bind it to one core.
            const measure::numbers found = where.ranks == 1 ? session.alone(job) : session.together(where.ranks, job);
            ratios.push_back(found.at("ratio"));
            fork_join.push_back(found.at("fork_join"));
            senders.push_back(found.at("senders"));
        }
        session.add({.name = where.name + beside,
                     .found = measure::median_of(ratios),
                     .unit = "times the speed",
                     .kind = measure::bar_kind::at_least,
                     .bar = bar,
                     .against = "blocking MPI and OpenMP loops, order " + std::to_string(order) + " in tiles of " +
                                std::to_string(edge),
                     .side_unit = "milliseconds",
                     .ours = measure::median_of(senders).value,
                     .baseline = measure::median_of(fork_join).value});
    };
    const layout layouts[] = {{2, 1, "2 ranks x 1 thread"}, {1, 2, "1 rank x 2 threads"}};
    for (const layout &where : layouts) {
        compare(where, "", 1.1, {});
    }
    const measure::busy_processes others(1);
    for (const layout &where : layouts) {
        compare(where, ", beside one busy process", 0.8, {});
    }
    compare(layouts[0], ", beside one busy process, waiting ranks of Open MPI yield", 0.8,
            {"OMPI_MCA_mpi_yield_when_idle=1"});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "cholesky",
                          .about = "tiled Cholesky factorization as a graph of senders, compared with blocking MPI "
                                   "and fork-join loops",
                          .bars = "at least 1.1 times the speed on 2 ranks x 1 thread and on 1 rank x 2 threads; at "
                                  "least 0.8 times beside one busy process",
                          .pieces = {{"both", both}},
                          .judge = judge});
}
