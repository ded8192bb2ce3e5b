// SPDX-License-Identifier: BSD-3-Clause
// Receiving in onready: blocks of numbers pass through all ranks, and each rank adds its own values to every block. The
// task of a block starts its receive when its buffer is free, and its body runs when the message is there. No task
// waits, and no task is needed for the receives. Each rank has two buffers for all blocks, so the dependences also say
// when a buffer may be used again. Usage: mpirun -n N onready_pipeline (any N, no arguments). Link thence-tampi and
// thence-tasks.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include <TAMPI.h>
#include <thence/dataflow.h>
#include <thence/dataflow.hpp>
#include <thence/task_runtime.h>

namespace {

constexpr int blocks = 32, block_size = 256, buffers = 2;

using block = std::array<double, block_size>;

} // namespace

int main(int argc, char **argv) {
    thence_task_runtime_add(thence_flow_task_runtime()); // the line that brings TAMPI and the data-flow layer together
    int level = 0, rank = 0, size = 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level < MPI_THREAD_MULTIPLE) {
        std::fprintf(stderr, "onready_pipeline: this MPI does not offer MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    std::array<block, buffers> buffer{};
    double sum = 0; // of what leaves the last rank
    thence::flow flow;
    for (int b = 0; b < blocks; ++b) {
        block &data = buffer[static_cast<std::size_t>(b % buffers)];
        // Called once when the tasks before this one have released the buffer. The body runs after what it binds.
        const auto receive = thence::onready([&data, rank, b] {
            if (rank == 0) {
                return;
            }
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(data.data(), block_size, MPI_DOUBLE, rank - 1, b, MPI_COMM_WORLD, &request);
            TAMPI_Iwait(&request, MPI_STATUS_IGNORE);
        });
        flow.submit({thence::inout(&data)}, {.label = "add"}, receive, [&data, rank, b] {
            for (double &value : data) {
                value = (rank == 0 ? 0 : value) + rank + b;
            }
        });
        if (rank == size - 1) {
            flow.submit({thence::in(&data), thence::commutative(&sum)}, {.label = "sum"},
                        [&data, &sum] { sum = std::accumulate(data.begin(), data.end(), sum); });
            continue;
        }
        // Complete when the message is sent: until then no task writes the buffer.
        flow.submit({thence::in(&data)}, {.label = "send"}, [&data, rank, b] {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Isend(data.data(), block_size, MPI_DOUBLE, rank + 1, b, MPI_COMM_WORLD, &request);
            TAMPI_Iwait(&request, MPI_STATUS_IGNORE);
        });
    }
    flow.taskwait();

    MPI_Bcast(&sum, 1, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
    // Each rank adds its number and that of the block to each value. All numbers are whole, so the sum is exact.
    const double of_ranks = size * (size - 1) / 2.0, of_blocks = blocks * (blocks - 1) / 2.0;
    const bool right = sum == block_size * (blocks * of_ranks + size * of_blocks);
    if (rank == 0) {
        std::printf("onready_pipeline: %d blocks through %d ranks: %s\n", blocks, size, right ? "right" : "WRONG");
    }
    MPI_Finalize();
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
