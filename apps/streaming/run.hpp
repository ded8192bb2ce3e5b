// SPDX-License-Identifier: BSD-3-Clause
// The input of a variant: one stage, the recorder and the progress bar.
#pragma once

#include "stage.hpp"

#include "common/imbalance.hpp"
#include "common/progress_bar.hpp"
#include "common/recorder.hpp"
#include "common/variant.hpp"

#include <span>

namespace streaming {

using apps::Activity;
using apps::Message;
using apps::Nanoseconds;
using apps::now;
using apps::Timed;

struct Run {
    MPI_Comm comm;
    Stage &stage;
    int threads;
    apps::Recorder &recorder;
    apps::ProgressBar &bar;
    double factor = 1; // how many times as expensive the work of this rank is

    int chunks() const { return stage.chunks(); }
    int blocks() const { return stage.blocks(); }

    // Computes a block that has arrived. May be called by any thread.
    void compute(int chunk, int block) {
        {
            const Timed timed(recorder, Activity::compute, chunk, stage.position(), block);
            const apps::Dearer dearer(factor);
            stage.compute(chunk, block);
        }
        if (block + 1 == blocks()) {
            bar.show(chunk + 1);
        }
    }
};

struct Variant : apps::VariantInfo {
    void (*solve)(Run &);
    // Before and after the timed run and the comparison: null, or what the variant needs there.
    void (*prepare)(Run &) = nullptr;
    void (*release)(Run &) = nullptr;
};

// The variants that were compiled; `serial` is the first.
std::span<const Variant> variants();

void solve_serial(Run &run);
void solve_mpi(Run &run);
void solve_forkjoin(Run &run);
void solve_tampi(Run &run);
void solve_callbacks(Run &run);
void prepare_callbacks(Run &run);
void release_callbacks(Run &run);
void solve_tagaspi(Run &run);
void solve_tagaspi_tasks(Run &run);
void prepare_tagaspi(Run &run);
void release_tagaspi(Run &run);

} // namespace streaming
