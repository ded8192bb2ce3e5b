// SPDX-License-Identifier: BSD-3-Clause
// One grid whose columns are distributed over the ranks. A line of the grid depends on the line above it and on the
// last column of the rank before, so blocks of lines move through the ranks as a pipeline. This is the kernel p2p of
// the Parallel Research Kernels: g(i,j) = g(i-1,j) + g(i,j-1) - g(i-1,j-1), and before the next iteration g(0,0)
// becomes -g(m-1,n-1), which the last rank sends to the first.
//
// The values are sums of whole numbers, so every rank checks all of its part exactly: after t iterations
// g(i,j) = i + j + (t-1)(m+n-2).
#pragma once

#include <mpi.h>
#include <string>
#include <vector>

namespace wavefront {

struct Settings {
    int columns = 1000, lines = 1000; // of each grid
    int per_message = 1;              // lines
    int iterations = 10;
    int grids = 1;           // odd ones run from the last rank to the first
    double factor = 1;       // how many times as expensive the work of this rank is
    double cell_cost = 0;    // simulated seconds for one cell
    double message_cost = 0; // simulated seconds for one message received through the variant
};

// A step is one block of lines in one iteration. Steps of a grid are computed in order.
class Pipeline {
public:
    Pipeline(const Settings &settings, int number, int rank, int ranks);

    int steps() const { return blocks * settings.iterations; }
    int index() const { return number; }
    int steps_per_iteration() const { return blocks; }
    int step() const { return current; } // the next to compute
    bool done() const { return current == steps(); }

    // The message that step `s` needs, and the one that it makes: MPI_PROC_NULL and a count of 0 if there is none.
    struct Message {
        int peer, tag, count;
    };
    Message needed(int s) const;
    Message made(int s) const;
    // Where the message of step `s` is received, and where that of the last computed step is. Two receives may be
    // pending, and two sends.
    double *incoming(int s) { return in[s & 1].data(); }
    double *outgoing(int s) { return out[s & 1].data(); }

    // Computes the next step. Its message has been received.
    void compute();

    long cells_per_step(int s) const { return static_cast<long>(lines_of(s)) * width; }
    // An empty text, or which value is wrong.
    std::string check() const;

private:
    double &at(int line, int column) {
        return cells[static_cast<std::size_t>(line) * static_cast<std::size_t>(width + 1) +
                     static_cast<std::size_t>(column)];
    }
    int first_line(int s) const { return 1 + (s % blocks) * settings.per_message; }
    int lines_of(int s) const;

    const Settings &settings;
    int number, position, last; // of this rank in the direction of the grid, and of the last one
    int before, after, first_rank, last_rank;
    int first_column = 0, width = 0; // without the column to the left, which column 0 of `cells` is
    int blocks = 0;
    int current = 0;
    std::vector<double> cells;
    std::vector<double> in[2], out[2];
};

} // namespace wavefront
