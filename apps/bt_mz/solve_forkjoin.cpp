// SPDX-License-Identifier: BSD-3-Clause
// Fork-join, as the reference does it: one zone after the other, the threads share its planes or rows, with a barrier
// after each part. Between two steps one thread exchanges all faces while the others are idle.
#include "exchange_all.hpp"

namespace bt_mz {

void solve_forkjoin(Run &run) {
    const int zones = static_cast<int>(run.zones.size());
    for (int t = 0; t < run.steps; ++t) {
#pragma omp parallel for num_threads(run.threads) schedule(static)
        for (int i = 0; i < zones; ++i) {
            Run::copy_out(*run.zones[static_cast<std::size_t>(i)], t);
        }
        exchange_all(run, t);
#pragma omp parallel for num_threads(run.threads) schedule(static)
        for (int i = 0; i < zones; ++i) {
            run.copy_in(*run.zones[static_cast<std::size_t>(i)], t);
        }
        for (auto &z : run.zones) {
#pragma omp parallel num_threads(run.threads)
            for (const Part part : parts) {
                const int first = Run::first(part), last = Run::last(part, *z);
#pragma omp for schedule(static)
                for (int k = first; k < last; ++k) {
                    run.compute(*z, part, t, k, k + 1);
                }
            }
            run.done(*z, t);
        }
    }
}

} // namespace bt_mz
