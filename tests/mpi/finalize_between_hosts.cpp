// SPDX-License-Identifier: BSD-3-Clause
// Two ranks on two hosts. One calls MPI_Finalize at once. The other makes progress for a while before, as a helper
// thread does while the program computes. On MPICH 4.0 such programs did not end.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    constexpr int count = 1 << 17;
    const std::vector<double> out(count, 1.0);
    std::vector<double> in(count);
    for (int i = 0; i < 20; ++i) { // messages after which MPI has connections to end
        MPI_Sendrecv(out.data(), count, MPI_DOUBLE, 1 - rank, 0, in.data(), count, MPI_DOUBLE, 1 - rank, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const int polls = argc > 1 ? std::atoi(argv[1]) : 0;
    for (int i = 0; rank == polls && i < 20; ++i) {
        int found = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    MPI_Finalize();
    std::puts(in[0] == 1.0 ? "ended" : "wrong values");
    return in[0] == 1.0 ? 0 : 1;
}
