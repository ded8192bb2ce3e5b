// SPDX-License-Identifier: BSD-3-Clause
// A tiled Cholesky factorization: as a graph of senders over the pools, against the same with blocking MPI and OpenMP
// loops. Both do the same steps with the same kernels on the same tiles. Senders get a flat grid of ranks, on which
// each rank makes a panel in turn; loops, which wait for panels, the shape of grid that is the faster one for them.
// Blocks of both alternate in one run.
#include "measure/benchmark.hpp"

#include "cholesky/by_fork_join.hpp"
#include "cholesky/by_senders.hpp"
#include "cholesky/check.hpp"
#include "cholesky/cores.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// Seconds of the slowest rank.
template <class Run> double seconds(MPI_Comm all, Run &&run) {
    MPI_Barrier(all);
    const double start = MPI_Wtime();
    run();
    double took = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, all);
    return took;
}

// A matrix on a grid of so many rows, and room for its factor.
struct placed {
    placed(int rows, int order, int edge) : grid(MPI_COMM_WORLD, rows), a(grid, order, edge), l(grid, order, edge) {
        a.fill([order](int row, int column) { return cholesky::dominant_diagonal(order, row, column); });
    }
    // Seconds of one factorization.
    template <class Way> double run(Way &way, bool check) {
        l.restore(a.elements());
        const double took = seconds(grid.all(), [&] { way.run(); });
        if (check)
            if (const double off = cholesky::residual(a, l); !(off < 1))
                throw std::runtime_error("L L^T is not A: they differ by " + std::to_string(off) +
                                         " times the order times the rounding error");
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
    int shape[2] = {0, 0}; // rows of the grid if it is flat, and if it is tall
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, shape);
    placed flat(shape[1], order, edge);
    placed tall(shape[0], order, edge);
    thence::pools pools({.workers = threads - 1}); // the thread that waits is one more
    const cholesky::cores cores(threads);
    const cholesky::pinned_workers pinned(pools.arena(), cores);
    cores.take(0);
    cholesky::by_senders senders(flat.l, pools);
    cholesky::by_fork_join loops_flat(flat.l, threads);
    cholesky::by_fork_join loops_tall(tall.l, threads);

    std::vector<double> on_flat;
    std::vector<double> on_tall;
    std::vector<double> ours;
    double spent = 0; // the same on all ranks
    for (int i = -2; i < rounds && (i < 9 || spent < 3); ++i) {
        const bool check = i % 100 == 0 || i < -1;
        std::optional<cholesky::openmp_team> team(std::in_place, threads, cores);
        const double with_flat = flat.run(loops_flat, check);
        const double with_tall = ranks == 1 ? with_flat : tall.run(loops_tall, check);
        team.reset();
        const double with_senders = flat.run(senders, check);
        spent += with_flat + with_tall + with_senders;
        if (i >= 0) { // the first ones warm up
            on_flat.push_back(with_flat);
            on_tall.push_back(with_tall);
            ours.push_back(with_senders);
        }
    }
    const std::vector<double> &base =
        measure::median_of(on_tall).value < measure::median_of(on_flat).value ? on_tall : on_flat;
    std::vector<double> ratios;
    ratios.reserve(base.size());
    for (std::size_t i = 0; i < base.size(); ++i)
        ratios.push_back(base[i] / ours[i]);
    work.result("ratio", measure::median_of(ratios).value);
    work.result("fork_join", measure::median_of(base).value * 1e3);
    work.result("senders", measure::median_of(ours).value * 1e3);
}

// Tiles of this size are about the best for both sides.
void judge(measure::session &session) {
    constexpr long order = 576;
    constexpr long edge = 96;
    struct layout {
        int ranks;
        long threads;
        const char *name;
    };
    for (const layout where : {layout{2, 1, "2 ranks x 1 thread"}, layout{1, 2, "1 rank x 2 threads"}}) {
        const measure::job job{.work = "both",
                               .parameters = {{"threads", where.threads}, {"order", order}, {"edge", edge}}};
        std::vector<double> ratios;
        std::vector<double> fork_join;
        std::vector<double> senders;
        for (int i = 0; i < (session.quick() ? 1 : 5); ++i) {
            // One rank alone is started without the launcher, which would bind it to one core.
            const measure::numbers found = where.ranks == 1 ? session.alone(job) : session.together(where.ranks, job);
            ratios.push_back(found.at("ratio"));
            fork_join.push_back(found.at("fork_join"));
            senders.push_back(found.at("senders"));
        }
        session.add({.name = where.name,
                     .found = measure::median_of(ratios),
                     .unit = "times the speed",
                     .kind = measure::bar_kind::at_least,
                     .bar = 1.1,
                     .against = "blocking MPI and OpenMP loops, order " + std::to_string(order) + " in tiles of " +
                                std::to_string(edge),
                     .side_unit = "milliseconds",
                     .ours = measure::median_of(senders).value,
                     .baseline = measure::median_of(fork_join).value});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "cholesky",
                          .about = "tiled Cholesky factorization as a graph of senders, against blocking MPI and "
                                   "fork-join loops",
                          .bars = "at least 1.1 times the speed on 2 ranks x 1 thread and on 1 rank x 2 threads",
                          .pieces = {{"both", both}},
                          .judge = judge});
}
