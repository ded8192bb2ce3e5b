// SPDX-License-Identifier: BSD-3-Clause
// The ring benchmark in every mode, as in figures 3 and 4 of Biddiscombe et al. 2025. There is no bar. `--plot` draws
// the rates by method and flags.
#include "ring/compare.hpp"

namespace {

void compare(measure::work &work) {
    ring::comparison(work, measure::every_mode()).run(work.quick() ? 1 : 3);
}

void judge(measure::session &session) {
    for (const auto &[bytes, iterations] : {std::pair(64, 1000), std::pair(131072, 64)}) {
        ring::add_modes(session, std::to_string(bytes) + " B, ",
                        ring::run_jobs(session, measure::every_mode(), bytes, iterations, 1));
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "ring_modes",
         .about = "messages per second in rings over up to 4 ranks in every mode, compared with MPI_Testsome",
         .bars = "none",
         .pieces = {{"compare", compare}},
         .judge = judge});
}
