// SPDX-License-Identifier: BSD-3-Clause
// A histogram whose bins are distributed over the processes. Each value goes to the process that has its bin, in a
// message that counts it there: nobody posts a receive, or knows how many will come. Then rank 0 fetches all bins, a
// coroutine for each process.
#include <thence/am.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <numeric>
#include <random>
#include <vector>

namespace ex = thence::ex;

namespace {

constexpr std::size_t bins = 500; // of each process
constexpr long values = 20000;    // of each process
enum { count, here_are };         // handlers

ex::task<void> fetch(const thence::active_messages &am, thence_am_memory from, long &sum, int &left) {
    std::vector<long> counts(bins);
    co_await am.async_get(std::span(counts), from, 0);
    sum += std::accumulate(counts.begin(), counts.end(), 0L);
    --left;
}

} // namespace

int main(int argc, char **argv) {
    int level = 0;
    int rank = 0;
    int ranks = 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bool ok = true;
    {
        std::vector<long> counts(bins);
        std::vector<thence_am_memory> memory(static_cast<std::size_t>(ranks));
        thence::active_messages am(MPI_COMM_WORLD);
        am.on(count, [&](const thence::am_message &m) { ++counts[m.value<std::size_t>()]; });
        am.on(here_are, [&](const thence::am_message &m) {
            memory[static_cast<std::size_t>(m.source())] = m.value<thence_am_memory>();
        });
        const thence_am_memory mine = am.share(std::span(counts));
        am.send(0, here_are, mine);

        std::mt19937 random(static_cast<unsigned>(rank));
        std::binomial_distribution<std::size_t> draw(bins * static_cast<std::size_t>(ranks) - 1, 0.5);
        for (long i = 0; i < values; ++i) {
            const std::size_t bin = draw(random);
            am.send(static_cast<int>(bin / bins), count, bin % bins);
        }
        am.quiesce(); // all values are counted, in all processes

        if (rank == 0) {
            long sum = 0;
            int left = ranks;
            for (const thence_am_memory &each : memory) {
                ex::start_detached(fetch(am, each, sum, left) |
                                   ex::upon_error([](const std::exception_ptr &) noexcept { std::terminate(); }));
            }
            am.progress_until([&] { return left == 0; });
            ok = sum == values * ranks;
            std::cout << sum << " values in the bins of " << ranks << " processes" << (ok ? "\n" : ", wrong\n");
        }
        am.quiesce(); // the others stay until their bins are fetched
        am.unshare(mine);
    }
    MPI_Finalize();
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
