// SPDX-License-Identifier: BSD-3-Clause
// Gauss-Seidel relaxation of a plate, block by block, as tasks with data dependences. A block needs the new values of
// its upper and left neighbours and the old ones of the lower and right neighbours, so blocks of several sweeps are in
// work at once. No step waits for the end of the one before, and the result is bit for bit that of a plain loop.
//
// The upper edge is set by another thread, as by a measuring device: the tasks that read it wait for an event.
#include <thence/dataflow.hpp>

#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

namespace {

constexpr int blocks = 8;  // in each direction
constexpr int length = 16; // of a block
constexpr int size = blocks * length + 2;
constexpr int sweeps = 20;

using plate = std::vector<double>;

void relax(plate &m, int row, int column) {
    for (int r = 1 + row * length; r < 1 + (row + 1) * length; ++r) {
        for (int c = 1 + column * length; c < 1 + (column + 1) * length; ++c) {
            m[r * size + c] =
                0.25 * (m[(r - 1) * size + c] + m[(r + 1) * size + c] + m[r * size + c - 1] + m[r * size + c + 1]);
        }
    }
}

void set_edge(plate &m, int column) {
    for (int c = 1 + column * length; c < 1 + (column + 1) * length; ++c) {
        m[c] = 100 + column;
    }
}

plate by_loops() {
    plate m(std::size_t{size} * size);
    for (int column = 0; column < blocks; ++column) {
        set_edge(m, column);
    }
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        for (int row = 0; row < blocks; ++row) {
            for (int column = 0; column < blocks; ++column) {
                relax(m, row, column);
            }
        }
    }
    return m;
}

plate by_tasks() {
    using thence::in;
    using thence::inout;
    plate m(std::size_t{size} * size);
    char of_block[blocks + 2][blocks + 2]; // its address stands for the block; those around are the edges
    thence::flow flow;
    for (int column = 0; column < blocks; ++column) {
        // The body ends at once. The task is complete, and what depends on it runs, when the edge is there.
        flow.submit({thence::out(&of_block[0][column + 1])}, {.label = "edge"}, [&, column] {
            const thence::task_ref task = thence::current_task();
            thence::raise_events(task);
            std::thread([&m, column, task] {
                set_edge(m, column);
                thence::lower_events(task);
            }).detach();
        });
    }
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        for (int row = 0; row < blocks; ++row) {
            for (int column = 0; column < blocks; ++column) {
                char(*const here)[blocks + 2] = &of_block[row + 1];
                flow.submit({in(&here[-1][column + 1]), in(&here[0][column]), inout(&here[0][column + 1]),
                             in(&here[0][column + 2]), in(&here[1][column + 1])},
                            {.label = "relax"}, [&m, row, column] { relax(m, row, column); });
            }
        }
    }
    flow.taskwait(); // throws what a task has thrown
    return m;
}

} // namespace

int main() {
    if (by_tasks() != by_loops()) {
        std::cerr << "tasks and loops differ\n";
        return EXIT_FAILURE;
    }
    std::cout << "tasks and loops agree\n";
    return EXIT_SUCCESS;
}
