// SPDX-License-Identifier: BSD-3-Clause
// Threads: several threads per rank each send a token round the ring, and sleep until it comes back. One of the waiting
// threads of a rank polls MPI for all of them; the program makes no progress call.
// Usage: mpirun -n N threads_ring (any N, no arguments). Link thence-core or thence.
#include <array>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

#include <thence/threads.hpp>

namespace {

constexpr int threads_per_rank = 3;
constexpr int laps = 20;

// Every rank adds its number to the token of lane `lane`. After each lap rank 0 checks the sum.
bool run_lane(int lane, int rank, int size, MPI_Request cr) {
    const int left = (rank + size - 1) % size;
    const int right = (rank + 1) % size;
    long token = 1000L * lane;
    for (int lap = 0; lap < laps; ++lap) {
        long sent = token;
        long received = 0;
        std::array<MPI_Request, 2> requests;
        MPI_Irecv(&received, 1, MPI_LONG, left, lane, MPI_COMM_WORLD, &requests[0]);
        if (rank == 0) {
            MPI_Isend(&sent, 1, MPI_LONG, right, lane, MPI_COMM_WORLD, &requests[1]);
            const auto statuses = thence::threads::wait(requests, cr);
            if (statuses[0].MPI_SOURCE != left) {
                return false;
            }
            token = received;
        } else {
            thence::threads::wait(requests[0], cr);
            sent = received + rank;
            MPI_Isend(&sent, 1, MPI_LONG, right, lane, MPI_COMM_WORLD, &requests[1]);
            thence::threads::wait(requests[1], cr);
        }
    }
    return rank != 0 || token == 1000L * lane + laps * (size * (size - 1L) / 2);
}

} // namespace

int main(int argc, char **argv) {
    int level = 0;
    int rank = 0;
    int size = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (level < MPI_THREAD_MULTIPLE) {
        std::cerr << "this MPI does not provide MPI_THREAD_MULTIPLE\n";
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    std::atomic<int> right_lanes = 0;
    {
        const thence::continuation_request cr;
        std::vector<std::thread> threads;
        threads.reserve(threads_per_rank);
        for (int lane = 0; lane < threads_per_rank; ++lane) {
            threads.emplace_back([&, lane] { right_lanes += run_lane(lane, rank, size, cr); });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
    }
    const bool ok = right_lanes == threads_per_rank;
    if (rank == 0) {
        std::cout << right_lanes << " of " << threads_per_rank << " tokens are right after " << laps << " laps\n";
    }
    MPI_Finalize();
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
