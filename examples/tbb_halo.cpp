// SPDX-License-Identifier: BSD-3-Clause
// oneTBB: the ring of cells of omp_halo.c as a task group. The inner cells are updated while the halo messages are in
// flight, the border cells after they have arrived. One task suspends for a collective, and its worker runs others.
// Usage: mpirun -n N tbb_halo (any N, no arguments). Link TBB::tbb.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <vector>

#include <thence/tbb.hpp>

namespace {

constexpr int blocks = 8;
constexpr int block_size = 64;
constexpr int local = blocks * block_size;
constexpr int steps = 30;
using cells = std::vector<unsigned>;

unsigned next_value(unsigned left, unsigned self, unsigned right) {
    return 3 * left + 5 * self + 7 * right + 1;
}
unsigned first_value(int global) {
    return 2654435761U * static_cast<unsigned>(global + 1);
}

void update(const cells &from, cells &to, int first, int last) {
    for (int i = first; i <= last; ++i) {
        const auto c = static_cast<std::size_t>(i);
        to[c] = next_value(from[c - 1], from[c], from[c + 1]);
    }
}

void step(cells &from, cells &to, int rank, int size, thence::onetbb::task_group &group) {
    const int left = (rank + size - 1) % size;
    const int right = (rank + 1) % size;
    std::array<MPI_Request, 2> receives;
    std::array<MPI_Request, 2> sends;
    MPI_Irecv(&from[0], 1, MPI_UNSIGNED, left, 0, MPI_COMM_WORLD, &receives[0]);
    MPI_Irecv(&from[local + 1], 1, MPI_UNSIGNED, right, 1, MPI_COMM_WORLD, &receives[1]);
    MPI_Isend(&from[local], 1, MPI_UNSIGNED, right, 0, MPI_COMM_WORLD, &sends[0]);
    MPI_Isend(&from[1], 1, MPI_UNSIGNED, left, 1, MPI_COMM_WORLD, &sends[1]);
    group.run_after(receives, [&] {
        update(from, to, 1, 1);
        update(from, to, local, local);
    });
    group.run_after(sends, [] {}); // so that wait() waits for the sends, too
    for (int b = 0; b < blocks; ++b) {
        group.run(
            [&, b] { update(from, to, std::max(2, 1 + b * block_size), std::min(local - 1, (b + 1) * block_size)); });
    }
    group.wait();
}

unsigned sum(const cells &u, int first, int last) {
    unsigned result = 0;
    for (int i = first; i <= last; ++i) {
        result += u[static_cast<std::size_t>(i)];
    }
    return result;
}

unsigned expected_sum(int size) {
    const int total = size * local;
    cells u(static_cast<std::size_t>(total) + 2), v(u);
    for (int i = 1; i <= total; ++i) {
        u[static_cast<std::size_t>(i)] = first_value(i - 1);
    }
    for (int s = 0; s < steps; ++s, u.swap(v)) {
        u.front() = u[static_cast<std::size_t>(total)];
        u.back() = u[1];
        update(u, v, 1, total);
    }
    return sum(u, 1, total);
}

} // namespace

int main(int argc, char **argv) {
    int level = 0;
    int rank = 0;
    int size = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unsigned mine = 0;
    unsigned all = 0;
    unsigned expected = 0;
    try {
        const thence::continuation_request cr;
        thence::onetbb::task_group group(cr);
        cells u(local + 2), v(local + 2);
        for (int i = 0; i < local; ++i) {
            u[static_cast<std::size_t>(i) + 1] = first_value(rank * local + i);
        }
        for (int s = 0; s < steps; ++s, u.swap(v)) {
            step(u, v, rank, size, group);
        }
        group.run([&] {
            MPI_Request request;
            mine = sum(u, 1, local);
            MPI_Iallreduce(&mine, &all, 1, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD, &request);
            group.suspend(request); // the task waits here; its worker runs other tasks
        });
        group.run([&] { expected = expected_sum(size); });
        group.wait();
    } catch (const thence::error &e) {
        std::cerr << "rank " << rank << ": " << e.what() << '\n';
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    if (all != expected) {
        std::cerr << "rank " << rank << ": sum " << all << " instead of " << expected << '\n';
    } else if (rank == 0) {
        std::cout << size * local << " cells, " << steps << " steps: correct\n";
    }
    MPI_Finalize();
    return all == expected ? EXIT_SUCCESS : EXIT_FAILURE;
}
