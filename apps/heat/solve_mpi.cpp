// SPDX-License-Identifier: BSD-3-Clause
// MPI only: a band is one row of blocks as tall as the band. Every operation is started as soon as its buffer is free
// and waited for when its data is needed, so messages and sweeps overlap.
#include "halo.hpp"

namespace heat {

void solve_mpi(Run &run) {
    struct Column {
        Flight from_above, from_below, to_below, to_above;
    };
    std::vector<Column> columns(static_cast<std::size_t>(run.block_cols()));
    Halo halo(run);
    const auto at = [&](int k) -> Column & { return columns[static_cast<std::size_t>(k)]; };
    const auto wait = [&](Column &c) {
        Flight *const all[] = {&c.from_above, &c.from_below, &c.to_below, &c.to_above};
        halo.wait(all);
    };

    for (int k = 0; k < run.block_cols(); ++k) {
        at(k).from_above = halo.receive(Direction::down, 0, k, run.col0(k), run.col1(k));
    }
    for (int t = 0; t < run.iterations; ++t) {
        for (int k = 0; k < run.block_cols(); ++k) {
            const int c0 = run.col0(k), c1 = run.col1(k);
            wait(at(k));
            run.sweep(t, 0, k, {0, run.band.rows(), c0, c1});
            at(k).to_below = halo.send(Direction::down, t, k, c0, c1);
            if (t + 1 == run.iterations) {
                continue;
            }
            at(k).to_above = halo.send(Direction::up, t, k, c0, c1);
            at(k).from_above = halo.receive(Direction::down, t + 1, k, c0, c1);
            at(k).from_below = halo.receive(Direction::up, t, k, c0, c1);
        }
        run.bar.show(t + 1);
    }
    for (Column &c : columns) {
        wait(c);
    }
}

} // namespace heat
