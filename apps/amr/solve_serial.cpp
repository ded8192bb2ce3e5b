// SPDX-License-Identifier: BSD-3-Clause
// The reference: one rank has all blocks.
#include "run.hpp"

namespace amr {

void solve_serial(Run &run) {
    run.epochs([&](Epoch epoch) {
        const Plan &plan = run.domain.plan();
        for (int stage = epoch.first; stage < epoch.end; ++stage) {
            for (const int leaf : plan.mine) {
                run.domain.copy_local(leaf);
            }
            for (const int leaf : plan.mine) {
                run.compute(stage, leaf);
            }
        }
    });
}

} // namespace amr
