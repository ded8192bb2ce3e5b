// SPDX-License-Identifier: BSD-3-Clause
// What a variant gets: one band, its neighbours, and who watches. All variants obey the same order: block (i, k) of
// iteration t comes after (i-1, k) and (i, k-1) of t and after (i+1, k) and (i, k+1) of t-1, on whatever rank these
// are.
#pragma once

#include "grid.hpp"
#include "progress_bar.hpp"
#include "recorder.hpp"

#include <mpi.h>
#include <span>

namespace heat {

struct Run {
    const Partition &partition;
    Band &band;
    MPI_Comm comm;
    int rank, ranks, threads, iterations;
    Recorder &recorder;
    ProgressBar &bar;

    int block_rows() const { return partition.block_rows(rank); }
    int block_cols() const { return partition.block_cols(); }
    int col0(int k) const { return k * partition.block; }
    int col1(int k) const { return std::min(col0(k) + partition.block, band.cols()); }

    // Sweeps block (i, k); any thread.
    void compute(int iteration, int i, int k) {
        const int row0 = i * partition.block;
        sweep(iteration, i, k, {row0, std::min(row0 + partition.block, band.rows()), col0(k), col1(k)});
        if (i == block_rows() - 1 && k == block_cols() - 1)
            bar.show(iteration + 1);
    }

    void sweep(int iteration, int i, int k, const Tile &tile) {
        const Timed timed(recorder, Activity::compute, iteration, i, k);
        band.sweep(tile);
    }
};

struct Variant {
    const char *name;
    const char *about;
    void (*solve)(Run &);
    int thread_level;   // least level that MPI must grant
    bool threaded;      // uses more than one thread
    bool continuations; // binds messages to tasks
};

// The variants compiled in; `serial` is the first.
std::span<const Variant> variants();
const Variant *find_variant(std::string_view name);

void solve_serial(Run &run);
void solve_mpi(Run &run);
void solve_forkjoin(Run &run);
void solve_omp_tasks(Run &run);
void solve_tbb(Run &run);

} // namespace heat
