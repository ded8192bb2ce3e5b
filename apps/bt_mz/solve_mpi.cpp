// SPDX-License-Identifier: BSD-3-Clause
// The variants serial and mpi: one thread per rank. In every step, all faces are exchanged, then all zones computed.
#include "exchange_all.hpp"

namespace bt_mz {

void solve_mpi(Run &run) {
    for (int t = 0; t < run.steps; ++t) {
        for (auto &z : run.zones) {
            Run::copy_out(*z, t);
        }
        exchange_all(run, t);
        for (auto &z : run.zones) {
            run.copy_in(*z, t);
            run.compute(*z, t);
            run.done(*z, t);
        }
    }
}

} // namespace bt_mz
