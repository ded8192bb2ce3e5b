// SPDX-License-Identifier: BSD-3-Clause
// The variants of wavefront. Each computes all steps of all grids of this rank; they differ in how they receive.
#pragma once

#include "pipeline.hpp"

#include "common/progress_bar.hpp"
#include "common/recorder.hpp"
#include "common/variant.hpp"

#include <memory>
#include <span>
#include <vector>

namespace wavefront {

struct Run {
    MPI_Comm comm;
    std::vector<std::unique_ptr<Pipeline>> grids;
    apps::Recorder *recorder; // null unless a timeline is written
    apps::ProgressBar &bar;
    int steps_done = 0;

    // Computes the next step of a grid.
    void compute(Pipeline &grid) {
        if (recorder == nullptr) {
            grid.compute();
        } else {
            const apps::Nanoseconds begin = apps::now();
            const int step = grid.step();
            grid.compute();
            recorder->add(apps::Activity::compute, begin, apps::now(), step, grid.index());
        }
        if ((++steps_done & 63) == 0) {
            bar.show(steps_done);
        }
    }
};

void solve_mpi(Run &run);
void solve_waitany(Run &run);
void solve_callbacks(Run &run);
void solve_coroutine(Run &run);

struct Variant : apps::VariantInfo {
    void (*solve)(Run &);
};
std::span<const Variant> variants();

} // namespace wavefront
