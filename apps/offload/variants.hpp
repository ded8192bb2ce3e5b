// SPDX-License-Identifier: BSD-3-Clause
// The variants of offload. Each runs all steps; they differ in whether tasks move, and in who notices that messages are
// complete.
#pragma once

#include "workload.hpp"

#include "common/progress_bar.hpp"
#include "common/variant.hpp"

#include <mpi.h>
#include <span>
#include <string>
#include <vector>

#include <thence/offload/settings.hpp>

namespace offload {

struct Run {
    MPI_Comm comm;
    int rank, ranks, threads;
    const Settings &settings;
    thence::offload_settings offloading;
    Cells &cells;
    apps::ProgressBar &bar;
    std::vector<thence::offload_step> steps = {}; // what this rank did in each
    std::string wrong = {};                       // the first wrong value of this rank

    // Before the tasks of a step are submitted, and after all are complete.
    void begin(int step) {
        const Unevenness &uneven = settings.uneven;
        CellTask::slowness = uneven.slow_rank ? uneven.factor_of(rank, step, ranks) : 1;
    }
    void end(int step, const thence::offload_step &report) {
        steps.push_back(report);
        if (const std::string found = cells.advance(step); wrong.empty()) {
            wrong = found;
        }
        bar.show(step + 1);
    }
};

void solve_none(Run &run);
void solve_polling(Run &run);
void solve_continuations(Run &run);

struct Variant : apps::VariantInfo {
    void (*solve)(Run &);
};
std::span<const Variant> variants();

} // namespace offload
