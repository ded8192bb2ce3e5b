// SPDX-License-Identifier: BSD-3-Clause
// The figures of the benchmark streaming: tasks with notified writes against tasks with messages at small blocks, and
// against MPI only where each is best.
#pragma once

#include "measure/contest.hpp"
#include "measure/limit.hpp"

#include <array>
#include <string>
#include <vector>

namespace measure::streaming_runs {

constexpr std::array variants{"mpi", "tampi", "tagaspi", "tagaspi-tasks"};
constexpr std::size_t mpi = 0, tampi = 1, tagaspi = 2;
constexpr std::array blocks{64, 256, 1024, 4096, 16384}; // numbers of a block
constexpr std::size_t small_blocks = 2;                  // the first ones

inline std::size_t contender_of(std::size_t variant, std::size_t block) {
    return variant * blocks.size() + block;
}

inline std::vector<std::string> contenders() {
    std::vector<std::string> all;
    for (const char *variant : variants) {
        for (const int block : blocks) {
            all.push_back(std::string(variant) + ", blocks of " + std::to_string(block));
        }
    }
    return all;
}

// `computed`: seconds that the rank which computes most does so; `chunks` of a run. `situation` is added to the names.
inline std::vector<figure> figures_of(const contest &runs, double computed, double chunks,
                                      const std::string &situation) {
    std::vector<figure> all;
    const auto best = [&](std::size_t variant) {
        return runs.best(contender_of(variant, 0), contender_of(variant + 1, 0));
    };
    const auto limited = [&](figure found, std::size_t c, std::size_t baseline, const std::string &against,
                             double bar) {
        found.name += situation;
        found.kind = bar > 0 ? bar_kind::at_least : bar_kind::none;
        found.bar = bar;
        found.against = against;
        found.side_unit = "milliseconds a chunk";
        found.ours = runs.seconds(c) / chunks * 1e3;
        found.baseline = runs.seconds(baseline) / chunks * 1e3;
        if (bar > 0) {
            add_limit(found, {.what = "the computation of a rank, without messages and tasks",
                              .value = runs.seconds(baseline) / computed});
        }
        all.push_back(std::move(found));
    };
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        const std::size_t c = contender_of(tagaspi, b), other = contender_of(tampi, b);
        limited(runs.compared(c, other), c, other, "TAMPI with the same blocks", b < small_blocks ? 1.2 : 0);
    }
    const std::size_t ours = best(tagaspi), theirs = best(mpi);
    figure against_mpi = runs.compared(ours, theirs);
    against_mpi.name += " (its best)";
    limited(against_mpi, ours, theirs, "MPI only at its best, " + contenders()[theirs], 0.95);
    const std::size_t extra = best(tagaspi + 1);
    limited(runs.compared(extra, ours), extra, ours, "TAGASPI at its best, acknowledgements in onready", 0);
    return all;
}

} // namespace measure::streaming_runs
