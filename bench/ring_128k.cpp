// SPDX-License-Identifier: BSD-3-Clause
// The ring benchmark with messages of 128 KiB, which need a handshake of sender and receiver (rendezvous protocol).
#include "ring/compare.hpp"

namespace {

void compare(measure::work &work) {
    ring::comparison(work, ring::usual_modes()).run(work.quick() ? 4 : 12);
}
void judge(measure::session &session) {
    ring::judge_against_testsome(session, 131072, 200, 1.0);
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "ring_128k",
         .about = "messages per second in rings over up to 4 ranks, 128 KiB, compared with MPI_Testsome",
         .bars = "the best mode at least 1.0 times as many",
         .pieces = {{"compare", compare}},
         .judge = judge});
}
