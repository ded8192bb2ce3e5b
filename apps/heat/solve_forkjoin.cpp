// SPDX-License-Identifier: BSD-3-Clause
// Fork-join: the threads of a rank share the blocks of one anti-diagonal at a time, with a barrier after each. Between
// two iterations one thread exchanges whole boundary rows while the others are idle.
#include "halo.hpp"

namespace heat {

void solve_forkjoin(Run &run) {
    Halo halo(run);
    const int rows = run.block_rows(), cols = run.block_cols(), width = run.band.cols();
    Flight from_above = halo.receive(Direction::down, 0, 0, 0, width), from_below, to_below, to_above;
    Flight *const all[] = {&from_above, &from_below, &to_below, &to_above};
    for (int t = 0; t < run.iterations; ++t) {
        halo.wait(all);
#pragma omp parallel num_threads(run.threads)
        for (int d = 0; d < rows + cols - 1; ++d) {
            const int first = std::max(0, d - cols + 1), last = std::min(rows - 1, d);
#pragma omp for schedule(static)
            for (int i = first; i <= last; ++i) {
                run.compute(t, i, d - i);
            }
        }
        to_below = halo.send(Direction::down, t, 0, 0, width);
        if (t + 1 == run.iterations) {
            break;
        }
        to_above = halo.send(Direction::up, t, 0, 0, width);
        from_above = halo.receive(Direction::down, t + 1, 0, 0, width);
        from_below = halo.receive(Direction::up, t, 0, 0, width);
    }
    halo.wait(all);
}

} // namespace heat
