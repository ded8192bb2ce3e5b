// SPDX-License-Identifier: BSD-3-Clause
// heat on one rank with two threads as one writes it by hand for this shape, without tasks and without MPI: each thread
// has half of the rows and takes them block of columns by block of columns. It shows what two threads can reach.
//
// Invariant: before piece s the upper thread waits until the lower one has done the same columns of the iteration
// before, and the lower one until the upper one has done piece s. So both compute what the serial run does.
#pragma once

#include "heat/run.hpp"

#include <atomic>
#include <thread>

namespace measure::heat_runs {

inline void solve_two_threads(heat::Run &run) {
    const int pieces = run.block_cols(), steps = pieces * run.iterations, middle = run.band.rows() / 2;
    struct alignas(64) counter {
        std::atomic<int> done{0};
    } counters[2];
    const auto follow = [&](int half) {
        const int row0 = half == 0 ? 0 : middle, row1 = half == 0 ? middle : run.band.rows();
        for (int s = 0; s < steps; ++s) {
            const int needed = half == 0 ? s + 1 - pieces : s + 1;
            for (int tries = 0; counters[1 - half].done.load(std::memory_order_acquire) < needed; ++tries) {
                if (tries > 1000) {
                    std::this_thread::yield();
                }
            }
            const int k = s % pieces;
            run.sweep(s / pieces, 0, k, {row0, row1, run.col0(k), run.col1(k)});
            counters[half].done.store(s + 1, std::memory_order_release);
        }
    };
    std::thread lower(follow, 1);
    follow(0);
    lower.join();
}

} // namespace measure::heat_runs
