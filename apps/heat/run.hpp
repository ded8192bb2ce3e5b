// SPDX-License-Identifier: BSD-3-Clause
// The input of a variant: one band, its neighbours, the recorder and the progress bar. All variants keep the same
// order: block (i, k) of iteration t is computed after (i-1, k) and (i, k-1) of iteration t and after (i+1, k) and (i,
// k+1) of iteration t-1, whichever ranks own these blocks.
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

    // Sweeps block (i, k). May be called by any thread.
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
    int thread_level;   // minimum level that MPI must provide
    bool threaded;      // uses more than one thread
    bool continuations; // couples messages to tasks with Thence
    bool tampi = false; // uses TAMPI.h
};

// The variants that were compiled; `serial` is the first.
std::span<const Variant> variants();
const Variant *find_variant(std::string_view name);

void solve_serial(Run &run);
void solve_mpi(Run &run);
void solve_forkjoin(Run &run);
void solve_omp_tasks(Run &run);
void solve_tbb(Run &run);
void solve_tampi_blocking(Run &run);
void solve_tampi_iwait(Run &run);
void solve_dataflow(Run &run);

} // namespace heat
