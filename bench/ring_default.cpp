// SPDX-License-Identifier: BSD-3-Clause
// The default mode of the pools, in which continuations may make any call, compared with the best mode of the same run.
#include "ring/compare.hpp"

namespace {

void compare(measure::work &work) {
    const bool large = work.parameter("bytes") > 4096;
    ring::comparison(work, ring::usual_modes()).run(work.quick() ? (large ? 4 : 10) : 12);
}

void judge(measure::session &session) {
    const std::string usual = to_string(thence::completion_mode{});
    for (const auto &[bytes, iterations] : {std::pair(64, 5000), std::pair(131072, 200)}) {
        const ring::findings all =
            ring::run_jobs(session, ring::usual_modes(), bytes, iterations, ring::usual_jobs(session));
        const ring::found &best = ring::best_of(all.modes);
        const ring::found &ours = *std::find_if(all.modes.begin(), all.modes.end(),
                                                [&](const ring::found &each) { return each.mode == usual; });
        session.add({.name = std::to_string(bytes) + " B, " + usual,
                     .found = {.value = ours.ratio.value / best.ratio.value},
                     .unit = "times the messages per second",
                     .kind = measure::bar_kind::at_least,
                     .bar = 0.8,
                     .against = best.mode + ", the best of this run",
                     .side_unit = "messages per second",
                     .ours = ours.rate,
                     .baseline = best.rate,
                     .to_beat = bytes == 64 ? "pika: 0.16" : ""});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "ring_default",
         .about = "messages per second of the default mode in rings over up to 4 ranks, compared with the best mode",
         .bars = "at least 0.8 times as many, at 64 B and 128 KiB",
         .pieces = {{"compare", compare}},
         .judge = judge});
}
