// SPDX-License-Identifier: BSD-3-Clause
// Heat in a square with one block of rows and columns per process. Each step exchanges the halo with all four
// neighbours in one co_await; columns are strided views. The result is compared with a run on one process.
#include <thence/mpi.hpp>

#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <vector>

namespace ex = thence::ex;

namespace {

constexpr int steps = 50;
constexpr std::size_t edge = 24; // of the whole square; divisible by every number of processes up to 4

// A block with a frame of one cell.
struct block {
    block(std::size_t r, std::size_t c) : rows(r), columns(c), cells((r + 2) * (c + 2)) {}
    double &at(std::size_t i, std::size_t j) { return cells[i * (columns + 2) + j]; }
    thence::strided<double> part(std::size_t i, std::size_t j, std::size_t r, std::size_t c) {
        return {&at(i, j), r, c, columns + 2};
    }
    std::size_t rows, columns;
    std::vector<double> cells;
};

double start_value(std::size_t i, std::size_t j) {
    return static_cast<double>((i * 7 + j * 13) % 10);
}

void step(block &now, block &next) {
    for (std::size_t i = 1; i <= now.rows; ++i) {
        for (std::size_t j = 1; j <= now.columns; ++j) {
            next.at(i, j) = 0.25 * (now.at(i - 1, j) + now.at(i + 1, j) + now.at(i, j - 1) + now.at(i, j + 1));
        }
    }
    std::swap(now.cells, next.cells);
}

// The processes form a torus, so that each has four neighbours.
ex::task<> exchange(const thence::communicator &comm, block &b, int up, int down, int left, int right) {
    co_await ex::when_all(comm.sendrecv(b.part(1, 1, 1, b.columns), up, b.part(b.rows + 1, 1, 1, b.columns), down, 0),
                          comm.sendrecv(b.part(b.rows, 1, 1, b.columns), down, b.part(0, 1, 1, b.columns), up, 1),
                          comm.sendrecv(b.part(1, 1, b.rows, 1), left, b.part(1, b.columns + 1, b.rows, 1), right, 2),
                          comm.sendrecv(b.part(1, b.columns, b.rows, 1), right, b.part(1, 0, b.rows, 1), left, 3));
}

ex::task<double> simulate(const thence::communicator &comm) {
    std::array<int, 2> dims{};
    std::array<int, 2> periods{1, 1};
    std::array<int, 2> where{};
    MPI_Dims_create(comm.size(), 2, dims.data());
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Cart_create(comm.get(), 2, dims.data(), periods.data(), 0, &made);
    const thence::communicator grid = thence::communicator::owning(made);
    MPI_Cart_coords(grid.get(), grid.rank(), 2, where.data());
    int up = 0;
    int down = 0;
    int left = 0;
    int right = 0;
    MPI_Cart_shift(grid.get(), 0, 1, &up, &down);
    MPI_Cart_shift(grid.get(), 1, 1, &left, &right);
    block now(edge / static_cast<std::size_t>(dims[0]), edge / static_cast<std::size_t>(dims[1]));
    block next = now;
    for (std::size_t i = 0; i < now.rows; ++i) {
        for (std::size_t j = 0; j < now.columns; ++j) {
            now.at(i + 1, j + 1) = start_value(static_cast<std::size_t>(where[0]) * now.rows + i,
                                               static_cast<std::size_t>(where[1]) * now.columns + j);
        }
    }
    for (int s = 0; s < steps; ++s) {
        co_await exchange(grid, now, up, down, left, right);
        step(now, next);
    }
    double squares = 0;
    for (std::size_t i = 1; i <= now.rows; ++i) {
        for (std::size_t j = 1; j <= now.columns; ++j) {
            squares += now.at(i, j) * now.at(i, j);
        }
    }
    co_await grid.allreduce(squares, std::plus<>());
    co_return squares;
}

} // namespace

int main(int argc, char **argv) {
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    bool ok = false;
    {
        const thence::communicator world = thence::communicator::world().duplicate();
        const thence::communicator self = thence::communicator::self().duplicate();
        const double together = std::get<0>(thence::sync_wait(simulate(world)).value());
        const double alone = std::get<0>(thence::sync_wait(simulate(self)).value());
        ok = std::abs(together - alone) < 1e-9 * alone;
        std::cout << "rank " << world.rank() << ": " << together << (ok ? " as on one process\n" : " differs\n");
    }
    MPI_Finalize();
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
