// SPDX-License-Identifier: BSD-3-Clause
// The input of a variant: one band, its neighbours, the recorder and the progress bar. All variants keep the same
// order: block (i, k) of iteration t is computed after (i-1, k) and (i, k-1) of iteration t and after (i+1, k) and (i,
// k+1) of iteration t-1, whichever ranks own these blocks.
#pragma once

#include "grid.hpp"

#include "common/imbalance.hpp"
#include "common/progress_bar.hpp"
#include "common/recorder.hpp"
#include "common/simulated.hpp"
#include "common/variant.hpp"

#include <mpi.h>
#include <span>

namespace heat {

using apps::Activity;
using apps::Message;
using apps::Nanoseconds;
using apps::now;
using apps::ProgressBar;
using apps::Recorder;
using apps::Timed;

struct Run {
    const Partition &partition;
    Band &band;
    MPI_Comm comm;
    int rank, ranks, threads, iterations;
    Recorder &recorder;
    ProgressBar &bar;
    const apps::Imbalance *imbalance = nullptr; // null: none
    double cell_cost = 0;                       // simulated seconds for one cell

    int block_rows() const { return partition.block_rows(rank); }
    int block_cols() const { return partition.block_cols(); }
    int col0(int k) const { return k * partition.block; }
    int col1(int k) const { return std::min(col0(k) + partition.block, band.cols()); }

    // Sweeps block (i, k). May be called by any thread.
    void compute(int iteration, int i, int k) {
        const int row0 = i * partition.block;
        sweep(iteration, i, k, {row0, std::min(row0 + partition.block, band.rows()), col0(k), col1(k)});
        if (i == block_rows() - 1 && k == block_cols() - 1) {
            bar.show(iteration + 1);
        }
    }

    void sweep(int iteration, int i, int k, const Tile &tile) {
        const Timed timed(recorder, Activity::compute, iteration, i, k);
        if (apps::simulated) {
            band.sweep(tile);
            const double cells = static_cast<double>(tile.row1 - tile.row0) * (tile.col1 - tile.col0);
            apps::inject(cell_cost * cells * (imbalance == nullptr ? 1 : dearness(tile)));
        } else if (imbalance == nullptr) {
            band.sweep(tile);
        } else {
            const apps::Dearer dearer(dearness(tile));
            band.sweep(tile);
        }
    }

    // The factor of a tile: that of its rank, or of the area that has its centre.
    double dearness(const Tile &tile) const {
        const double x = (tile.col0 + tile.col1) / 2.0 / partition.cols;
        const double y = (partition.first_row(rank) + (tile.row0 + tile.row1) / 2.0) / partition.rows;
        return imbalance->factor_of(rank, x, y);
    }
};

struct Variant : apps::VariantInfo {
    void (*solve)(Run &);
    // Before and after the timed run: null, or what the variant needs there. The field is read before release().
    void (*prepare)(Run &) = nullptr;
    void (*release)(Run &) = nullptr;
};

// The variants that were compiled; `serial` is the first.
std::span<const Variant> variants();

void solve_serial(Run &run);
void solve_mpi(Run &run);
void solve_callbacks(Run &run);
void prepare_callbacks(Run &run);
void release_callbacks(Run &run);
void solve_forkjoin(Run &run);
void solve_omp_tasks(Run &run);
void solve_tbb(Run &run);
void solve_tampi_blocking(Run &run);
void solve_tampi_iwait(Run &run);
void solve_dataflow(Run &run);
void solve_tagaspi(Run &run);
void prepare_tagaspi(Run &run);
void release_tagaspi(Run &run);

} // namespace heat
