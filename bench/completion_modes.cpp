// SPDX-License-Identifier: BSD-3-Clause
// The tiled Cholesky factorization and the reduction of a band matrix in every mode of completion, on 2 ranks, as in
// figures 7 to 9 of Biddiscombe et al. 2025. The baseline is the same algorithm with blocking MPI calls. Repetitions of
// all modes alternate within one run. There is no bar. `--plot` draws the speed by method and flags.
#include "measure/benchmark.hpp"
#include "measure/every_mode.hpp"
#include "measure/slowest.hpp"

#include "band/by_blocking.hpp"
#include "band/by_senders.hpp"
#include "cholesky/by_fork_join.hpp"
#include "cholesky/by_senders.hpp"
#include "cholesky/check.hpp"

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// Runs the baseline and then each mode, in rounds, and reports medians. Every one is a function that returns its
// seconds.
void compare(measure::work &work, const std::function<double()> &baseline,
             const std::function<double(const thence::completion_mode &)> &with_mode) {
    const std::vector<std::string> modes = measure::every_mode();
    std::vector<double> base;
    std::vector<std::vector<double>> ours(modes.size()), ratios(modes.size());
    for (int round = -1; round < (work.quick() ? 3 : 15); ++round) { // the first one is a warm-up
        const double blocking = baseline();
        for (std::size_t i = 0; i < modes.size(); ++i) {
            const double took = with_mode(thence::parse_completion_mode(modes[i]));
            if (round >= 0) {
                ours[i].push_back(took);
                ratios[i].push_back(blocking / took);
            }
        }
        if (round >= 0) {
            base.push_back(blocking);
        }
    }
    work.result("baseline", measure::median_of(base).value * 1e3);
    for (std::size_t i = 0; i < modes.size(); ++i) {
        const measure::sample ratio = measure::median_of(ratios[i]);
        work.result("ms:" + modes[i], measure::median_of(ours[i]).value * 1e3);
        work.result("ratio:" + modes[i], ratio.value);
        work.result("low:" + modes[i], ratio.low);
        work.result("high:" + modes[i], ratio.high);
    }
}

void factorize(measure::work &work) {
    cholesky::one_thread_per_kernel();
    const int order = static_cast<int>(work.parameter("order"));
    const int edge = static_cast<int>(work.parameter("edge"));
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const cholesky::grid grid(MPI_COMM_WORLD, 1);
    cholesky::matrix a(grid, order, edge);
    cholesky::matrix l(grid, order, edge);
    a.fill([order](int row, int column) { return cholesky::dominant_diagonal(order, row, column); });
    const auto run = [&](const std::function<void()> &algorithm) {
        l.restore(a.elements());
        const double took = measure::seconds_of_slowest(grid.all(), algorithm);
        if (const double off = cholesky::residual(a, l); !(off < 1)) {
            throw std::runtime_error("L L^T differs from A by " + std::to_string(off) +
                                     " times the order times the rounding error");
        }
        return took;
    };
    cholesky::by_fork_join loops(l, 1);
    measure::pools_of_modes pools(1);
    compare(
        work, [&] { return run([&] { loops.run(); }); },
        [&](const thence::completion_mode &how) {
            cholesky::by_senders senders(l, pools.for_mode(how), how);
            return run([&] { senders.run(); });
        });
}

void reduce(measure::work &work) {
    const band::ranks ranks({.order = static_cast<int>(work.parameter("order")),
                             .width = static_cast<int>(work.parameter("width")),
                             .steps = 1});
    const band::tridiagonal expected = work.rank() == 0 ? band::reduce_alone(ranks.problem()) : band::tridiagonal();
    const auto run = [&](const std::function<band::tridiagonal()> &algorithm) {
        band::tridiagonal found;
        const double took = measure::seconds_of_slowest(ranks.comm(), [&] { found = algorithm(); });
        if (found != expected) {
            throw std::runtime_error("the result differs from that of a single station");
        }
        return took;
    };
    band::by_blocking blocking(ranks);
    measure::pools_of_modes pools(1);
    compare(
        work, [&] { return run([&] { return blocking.run(); }); },
        [&](const thence::completion_mode &how) {
            return run([&] { return band::by_senders(ranks, pools.for_mode(how), how).run(); });
        });
}

void judge(measure::session &session) {
    const measure::job factorization{.work = "factorize", .parameters = {{"order", 576}, {"edge", 96}}};
    const measure::job reduction{.work = "reduce", .parameters = {{"order", 384}, {"width", 16}}};
    for (const auto &[name, job] : {std::pair("Cholesky", factorization), std::pair("band reduction", reduction)}) {
        const measure::numbers found = session.together(2, job);
        for (const std::string &mode : measure::every_mode()) {
            session.add({.name = std::string(name) + ", " + mode,
                         .found = {found.at("ratio:" + mode), found.at("low:" + mode), found.at("high:" + mode)},
                         .unit = "times the speed",
                         .against = "the same with blocking MPI calls",
                         .side_unit = "milliseconds",
                         .ours = found.at("ms:" + mode),
                         .baseline = found.at("baseline")});
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "completion_modes",
                          .about = "Cholesky factorization and reduction of a band matrix on 2 ranks in every mode of "
                                   "completion, compared with blocking MPI calls",
                          .bars = "none",
                          .pieces = {{"factorize", factorize}, {"reduce", reduce}},
                          .judge = judge});
}
