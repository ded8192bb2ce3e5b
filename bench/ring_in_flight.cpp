// SPDX-License-Identifier: BSD-3-Clause
// The ring benchmark with 32, 64 and 128 rings in flight on each rank, 1,000 of them, as in section 4 of Biddiscombe et
// al. 2025: with more requests in flight, a call of MPI_Testsome over all of them takes longer. There is no bar.
// `--plot` draws the rates by the number of rings.
#include "ring/compare.hpp"

namespace {

void compare(measure::work &work) {
    ring::comparison(work, ring::usual_modes()).run(work.quick() ? 2 : 10);
}

void judge(measure::session &session) {
    for (const int in_flight : {32, 64, 128}) {
        ring::add_modes(session, std::to_string(in_flight) + " rings, ",
                        ring::run_jobs(session, ring::usual_modes(), 64, 1000, ring::usual_jobs(session), in_flight));
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "ring_in_flight",
                          .about = "messages per second in 32, 64 and 128 rings in flight over up to 4 ranks, 64 B, "
                                   "compared with MPI_Testsome",
                          .bars = "none",
                          .pieces = {{"compare", compare}},
                          .judge = judge});
}
