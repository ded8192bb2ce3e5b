// SPDX-License-Identifier: BSD-3-Clause
// A tiled Cholesky factorization: as a graph of senders over the pools, against the same with blocking MPI and OpenMP
// loops. Both do the same steps with the same kernels on the same tiles. Blocks of both alternate in one run.
#include "measure/benchmark.hpp"

#include "cholesky/by_fork_join.hpp"
#include "cholesky/by_senders.hpp"
#include "cholesky/check.hpp"
#include "cholesky/cores.hpp"

#include <optional>

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

void both(measure::work &work) {
    const int threads = static_cast<int>(work.parameter("threads"));
    const int order = static_cast<int>(work.parameter("order"));
    const int rounds = work.quick() ? 41 : 301;
    cholesky::one_thread_per_kernel();
    const cholesky::grid grid(MPI_COMM_WORLD);
    cholesky::matrix a(grid, order, static_cast<int>(work.parameter("edge")));
    cholesky::matrix l(grid, order, a.edge());
    a.fill([order](int row, int column) { return cholesky::dominant_diagonal(order, row, column); });
    thence::pools pools({.workers = threads - 1}); // the thread that waits is one more
    const cholesky::cores cores(threads);
    const cholesky::pinned_workers pinned(pools.arena(), cores);
    cores.take(0);
    cholesky::by_fork_join fork_join(l, threads);
    cholesky::by_senders senders(l, pools);

    std::vector<double> base;
    std::vector<double> ours;
    std::vector<double> ratios;
    const auto measured = [&](auto &way, bool check) {
        l.restore(a.elements());
        const double took = seconds(grid.all(), [&] { way.run(); });
        if (check)
            if (const double off = cholesky::residual(a, l); !(off < 1))
                throw std::runtime_error("L L^T is not A: they differ by " + std::to_string(off) +
                                         " times the order times the rounding error");
        return took;
    };
    for (int i = -2; i < rounds; ++i) {
        const bool check = i == -2 || i == rounds - 1;
        std::optional<cholesky::openmp_team> team(std::in_place, threads, cores);
        const double with_fork_join = measured(fork_join, check);
        team.reset();
        const double with_senders = measured(senders, check);
        if (i >= 0) { // the first ones warm up
            base.push_back(with_fork_join);
            ours.push_back(with_senders);
            ratios.push_back(with_fork_join / with_senders);
        }
    }
    std::sort(ratios.begin(), ratios.end());
    work.result("ratio", measure::median_of(ratios).value);
    work.result("low", ratios[ratios.size() / 4]);
    work.result("high", ratios[ratios.size() * 3 / 4]);
    work.result("fork_join", measure::median_of(base).value * 1e3);
    work.result("senders", measure::median_of(ours).value * 1e3);
}

// Both sides are at their best with tiles of about this size, on this order.
void judge(measure::session &session) {
    constexpr long order = 768;
    constexpr long edge = 96;
    struct layout {
        int ranks;
        long threads;
        const char *name;
    };
    for (const layout where : {layout{2, 1, "2 ranks x 1 thread"}, layout{1, 2, "1 rank x 2 threads"}}) {
        const measure::job job{.work = "both",
                               .parameters = {{"threads", where.threads}, {"order", order}, {"edge", edge}}};
        // One rank alone is started without the launcher, which would bind it to one core.
        const measure::numbers found = where.ranks == 1 ? session.alone(job) : session.together(where.ranks, job);
        session.add({.name = where.name,
                     .found = {found.at("ratio"), found.at("low"), found.at("high")},
                     .unit = "times the speed",
                     .kind = measure::bar_kind::at_least,
                     .bar = 1.1,
                     .against = "blocking MPI and OpenMP loops, order " + std::to_string(order) + " in tiles of " +
                                std::to_string(edge),
                     .side_unit = "milliseconds",
                     .ours = found.at("senders"),
                     .baseline = found.at("fork_join")});
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
