// SPDX-License-Identifier: BSD-3-Clause
// Each rank sends its number to the next one through a pool, and adds up in tasks of the pool.
#include <cstdio>
#include <thence/pools.hpp>
#include <vector>

namespace ex = thence::ex;

int main(int argc, char **argv) {
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int left = (rank + size - 1) % size;
    long sum = 0;
    {
        thence::pools pools({.workers = 1});
        const std::vector<int> out(1000, rank);
        std::vector<int> in(1000, -1);
        auto receive = ex::just(in.data(), 1000, MPI_INT, left, 0, MPI_COMM_WORLD) | pools.transform_mpi(MPI_Irecv) |
                       ex::then([&](auto &&...) {
                           for (const int x : in) {
                               sum += x;
                           }
                       });
        auto send = ex::just(out.data(), 1000, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD) |
                    pools.transform_mpi(MPI_Isend) | ex::then([](auto &&...) {});
        pools.sync_wait(ex::when_all(std::move(receive), std::move(send)));
    }
    MPI_Finalize();
    if (sum != 1000L * left) {
        std::fprintf(stderr, "rank %d: the sum is %ld, expected %ld\n", rank, sum, 1000L * left);
        return 1;
    }
    return 0;
}
