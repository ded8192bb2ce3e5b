// SPDX-License-Identifier: BSD-3-Clause
// Rows of numbers that are smoothed in every time step, a task each. Those of rank 0 need eight times as many sweeps,
// so the others wait for it in the first step; from then on some of its tasks run on them. The result is the same
// wherever a task runs.
#include <thence/offload.hpp>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <vector>

namespace {

constexpr int rows = 24; // of each rank
constexpr int columns = 400;
constexpr int steps = 10;

void smooth(double *row, int values, int sweeps) {
    for (int s = 0; s < sweeps; ++s) {
        for (int i = 1; i < values - 1; ++i) {
            row[i] = 0.25 * row[i - 1] + 0.5 * row[i] + 0.25 * row[i + 1];
        }
    }
}

// A type of task: what describes one, its sizes, and the function, which gets nothing else.
struct row_task {
    struct metadata {
        int values, sweeps;
    };
    static std::size_t input_bytes(const metadata &m) { return static_cast<std::size_t>(m.values) * sizeof(double); }
    static std::array<std::size_t, 1> result_bytes(const metadata &m) { return {input_bytes(m)}; }
    static void run(const metadata &m, std::span<const std::byte> input,
                    const std::array<std::span<std::byte>, 1> &results) noexcept {
        std::memcpy(results[0].data(), input.data(), input.size());
        smooth(reinterpret_cast<double *>(results[0].data()), m.values, m.sweeps);
    }
};

double first_value(int rank, int row, int i) {
    return std::sin(0.1 * i * (1 + row)) + rank;
}

} // namespace

int main(int argc, char **argv) {
    int level = 0;
    int rank = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const row_task::metadata work{columns, rank == 0 ? 400 : 50};
    std::vector<std::vector<double>> now(rows), next(rows, std::vector<double>(columns));
    for (int r = 0; r < rows; ++r) {
        for (int i = 0; i < columns; ++i) {
            now[static_cast<std::size_t>(r)].push_back(first_value(rank, r, i));
        }
    }
    int moved = 0;
    {
        thence::offloader tasks(MPI_COMM_WORLD);
        tasks.add<row_task>(); // on all ranks
        tasks.begin();
        for (int step = 0; step < steps; ++step) {
            for (std::size_t r = 0; r < now.size(); ++r) {
                tasks.submit<row_task>(work, std::as_bytes(std::span(now[r])),
                                       {std::as_writable_bytes(std::span(next[r]))});
            }
            moved += tasks.finish_step().offloaded; // all results are there
            std::swap(now, next);
        }
    }
    // The same without tasks.
    bool ok = true;
    for (int r = 0; r < rows; ++r) {
        std::vector<double> expected;
        expected.reserve(columns);
        for (int i = 0; i < columns; ++i) {
            expected.push_back(first_value(rank, r, i));
        }
        for (int step = 0; step < steps; ++step) {
            smooth(expected.data(), columns, work.sweeps);
        }
        ok = ok && expected == now[static_cast<std::size_t>(r)];
    }
    std::cout << "rank " << rank << ": " << moved << " of " << rows * steps << " tasks ran on other ranks"
              << (ok ? "\n" : ", and a result is wrong\n");
    MPI_Finalize();
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
