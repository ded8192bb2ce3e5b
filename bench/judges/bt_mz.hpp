// SPDX-License-Identifier: BSD-3-Clause
// The figures of the benchmark bt_mz: the variants against fork-join. Two of them have the bar: the best with
// continuations, and the best with tasks. They are one figure if the best with continuations has tasks.
#pragma once

#include "measure/contest.hpp"
#include "measure/limit.hpp"

#include <array>
#include <string>
#include <vector>

namespace measure::bt_mz_runs {

// In the order of the parameter `variant`.
constexpr std::array names{"forkjoin", "mpi", "waitsome", "callbacks", "omp-tasks", "dataflow", "tampi-iwait"};
constexpr std::size_t fork_join = 0, waitsome = 2, first_with_continuations = 3, first_with_tasks = 4;

struct shape {
    int ranks, threads;
    std::string delay = {}; // between two hosts with a rank each; empty: all ranks on this machine
    double bar = 1.0;
};

// Variants of one thread have no place where a rank has more.
inline std::size_t first_variant(const shape &of) {
    return of.threads > 1 ? first_with_tasks : 1;
}

// Contender 0 is fork-join; then come the variants from first_variant() on.
inline std::vector<figure> figures_of(const contest &runs, const shape &of, double steps) {
    const auto contender_of = [&](std::size_t variant) { return 1 + variant - first_variant(of); };
    const std::size_t end = contender_of(names.size()),
                      best_with_tasks = runs.best(contender_of(first_with_tasks), end),
                      best = of.threads > 1 ? end : runs.best(contender_of(first_with_continuations), end);
    std::vector<figure> all;
    for (std::size_t c = 1; c < end; ++c) {
        figure found = runs.compared(c, 0, steps);
        if (c == best || c == best_with_tasks) {
            found.name += c == best ? ", the best with continuations" : "";
            found.name += c == best_with_tasks ? ", the best with tasks" : "";
            found.kind = bar_kind::at_least;
            found.bar = of.bar;
            if (of.threads == 1) {
                add_peer(found, "plain MPI in the same order (waitsome)", runs.speed(contender_of(waitsome), 0).value);
            }
            add_limit(found, {.what = "computation alone, without messages, waiting and tasks",
                              .value = runs.speed_of_computation(0).value});
        }
        all.push_back(std::move(found));
    }
    return all;
}

} // namespace measure::bt_mz_runs
