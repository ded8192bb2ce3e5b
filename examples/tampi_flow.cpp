// SPDX-License-Identifier: BSD-3-Clause
// TAMPI's interface with tasks that have data dependences: each rank smooths a row of blocks, and the ends of the row
// come from its neighbours. All steps are submitted at once. A task that receives starts its message and returns; the
// tasks that read it start when it has arrived. Usage: mpirun -n N tampi_flow (any N, no arguments). Link thence-tampi
// and thence-tasks.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <TAMPI.h>
#include <thence/dataflow.h>
#include <thence/dataflow.hpp>
#include <thence/task_runtime.h>

namespace {

constexpr int steps = 20, blocks = 8, block_size = 64, cells = blocks * block_size;

double initial(int global) {
    return std::sin(global * 0.1) * 100;
}
double smoothed(double left, double own, double right) {
    return own + 0.25 * (left - 2 * own + right);
}

// The row of one rank, with a cell of each neighbour at its ends. Cell 0 and cell `cells + 1` of the whole domain stay
// zero.
using row = std::vector<double>;

void smooth_block(const row &from, row &to, int block) {
    for (std::size_t i = static_cast<std::size_t>(block) * block_size + 1, n = i + block_size; i < n; ++i) {
        to[i] = smoothed(from[i - 1], from[i], from[i + 1]);
    }
}

// What a rank has after all steps, found by one process for the whole domain.
row expected(int rank, int size) {
    row now(static_cast<std::size_t>(size) * cells + 2), next = now;
    for (std::size_t i = 1; i + 1 < now.size(); ++i) {
        now[i] = initial(static_cast<int>(i));
    }
    for (int step = 0; step < steps; ++step, now.swap(next)) {
        for (std::size_t i = 1; i + 1 < now.size(); ++i) {
            next[i] = smoothed(now[i - 1], now[i], now[i + 1]);
        }
    }
    const auto first = now.begin() + std::ptrdiff_t{rank} * cells;
    return {first, first + cells + 2};
}

} // namespace

int main(int argc, char **argv) {
    thence_task_runtime_add(thence_flow_task_runtime()); // the line that brings TAMPI and the data-flow layer together
    int level = 0, rank = 0, size = 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level < MPI_THREAD_MULTIPLE) {
        std::fprintf(stderr, "tampi_flow: this MPI does not offer MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    std::array<row, 2> rows{row(cells + 2), row(cells + 2)};
    for (std::size_t i = 1; i <= cells; ++i) {
        rows[0][i] = initial(rank * cells + static_cast<int>(i));
    }

    thence::flow flow;
    for (int step = 0; step < steps; ++step) {
        row &from = rows[static_cast<std::size_t>(step % 2)], &to = rows[static_cast<std::size_t>((step + 1) % 2)];
        // The key of a block is the address of its first cell; the keys of the ends are those of the cells from the
        // neighbours.
        const auto block = [](row &of, int b) { return &of[static_cast<std::size_t>(b) * block_size + 1]; };
        const auto exchange = [&](int neighbour, const double *send, double *receive, const double *end_block) {
            if (neighbour < 0 || neighbour == size) {
                return;
            }
            flow.submit({thence::in(end_block)}, {.label = "send"}, [=] {
                MPI_Request request = MPI_REQUEST_NULL;
                TAMPI_Isend(send, 1, MPI_DOUBLE, neighbour, step, MPI_COMM_WORLD, &request);
            });
            flow.submit({thence::out(receive)}, {.label = "receive"}, [=] {
                MPI_Request request = MPI_REQUEST_NULL;
                MPI_Irecv(receive, 1, MPI_DOUBLE, neighbour, step, MPI_COMM_WORLD, &request);
                TAMPI_Iwait(&request, MPI_STATUS_IGNORE);
            });
        };
        exchange(rank - 1, &from[1], &from[0], block(from, 0));
        exchange(rank + 1, &from[cells], &from[cells + 1], block(from, blocks - 1));
        for (int b = 0; b < blocks; ++b) {
            const double *const left = b == 0 ? &from[0] : block(from, b - 1);
            const double *const right = b == blocks - 1 ? &from[cells + 1] : block(from, b + 1);
            flow.submit({thence::in(left), thence::in(block(from, b)), thence::in(right), thence::out(block(to, b))},
                        {.label = "smooth"}, [&from, &to, b] { smooth_block(from, to, b); });
        }
    }
    flow.taskwait();

    const row wanted = expected(rank, size);
    int wrong = 0;
    for (std::size_t i = 1; i <= cells; ++i) {
        wrong += std::abs(rows[steps % 2][i] - wanted[i]) > 1e-9 ? 1 : 0;
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        std::printf("tampi_flow: %d steps of %d blocks on %d ranks: %s\n", steps, blocks, size,
                    wrong == 0 ? "right" : "WRONG");
    }
    MPI_Finalize();
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
