// SPDX-License-Identifier: BSD-3-Clause
// The input of a variant: the blocks of a rank, the recorder and the progress bar. A variant computes one epoch at a
// time: the stages between two refinements. All stages are alike: ghosts are filled with copies of the neighbours'
// faces, then each block is computed.
#pragma once

#include "domain.hpp"

#include "common/imbalance.hpp"
#include "common/progress_bar.hpp"
#include "common/recorder.hpp"
#include "common/simulated.hpp"
#include "common/variant.hpp"

#include <algorithm>
#include <functional>
#include <span>

namespace amr {

using apps::Activity;
using apps::Message;
using apps::Nanoseconds;
using apps::Timed;

struct Epoch {
    int first, end; // stages
};

struct Run {
    Domain &domain;
    int threads;
    apps::Recorder &recorder;
    apps::ProgressBar &bar;
    const apps::Imbalance *imbalance = nullptr; // null: none
    std::function<void(int)> on_mesh;           // called with the time of each mesh
    double cell_cost = 0;                       // simulated seconds for one variable of one cell
    double refine_time = 0;                     // seconds
    double updates = 0;                         // of cells and variables, by all ranks

    // Computes a block. May be called by any thread.
    void compute(int stage, int leaf) {
        thread_local std::vector<double> scratch;
        const Timed timed(recorder, Activity::compute, stage, domain.mesh().leaf(leaf).level, leaf);
        const double factor = imbalance == nullptr ? 1 : dearness(leaf);
        const apps::Dearer dearer(apps::simulated ? 1 : factor);
        domain.block(leaf).stencil(scratch);
        apps::inject(cell_cost * factor * Block::cells(domain.settings()));
    }

    double dearness(int leaf) const {
        const Leaf &l = domain.mesh().leaf(leaf);
        const auto low = l.low(domain.settings()), high = l.high(domain.settings());
        return imbalance->factor_of(domain.rank(), (low[0] + high[0]) / 2, (low[1] + high[1]) / 2);
    }

    // Calls `epoch` for each Epoch, with a refinement between two.
    template <class F> void epochs(F epoch) {
        const Settings &s = domain.settings();
        for (int step = 0; step < s.steps; step += s.refine_every) {
            if (step > 0) {
                const double begin = MPI_Wtime();
                domain.refine(step);
                refine_time += MPI_Wtime() - begin;
            }
            on_mesh(step);
            const int steps = std::min(s.refine_every, s.steps - step);
            updates += static_cast<double>(domain.mesh().size()) * Block::cells(s) * steps * s.stages;
            epoch(Epoch{step * s.stages, (step + steps) * s.stages});
            bar.show(step + steps);
        }
    }
};

struct Variant : apps::VariantInfo {
    void (*solve)(Run &);
    // Before and after the timed run: null, or what the variant needs there.
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
void solve_tampi(Run &run);
void solve_tagaspi(Run &run);
void prepare_tagaspi(Run &run);
void release_tagaspi(Run &run);

} // namespace amr
