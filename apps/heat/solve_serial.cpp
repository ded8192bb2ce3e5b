// SPDX-License-Identifier: BSD-3-Clause
// The reference: one sweep over the whole plate per iteration, in one tile and without messages.
#include "run.hpp"

namespace heat {

void solve_serial(Run &run) {
    for (int t = 0; t < run.iterations; ++t) {
        run.sweep(t, 0, 0, {0, run.band.rows(), 0, run.band.cols()});
        run.bar.show(t + 1);
    }
}

} // namespace heat
