// SPDX-License-Identifier: BSD-3-Clause
// The ring benchmark with messages of 64 bytes, which MPI sends eagerly: the cost of finding completions dominates.
#include "ring/compare.hpp"

namespace {

void compare(measure::work &work) {
    ring::comparison(work, ring::usual_modes()).run(work.quick() ? 6 : 10);
}
void judge(measure::session &session) {
    ring::judge_against_testsome(session, 64, 5000, 1.1, ring::largest_gain(session, 64));
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "ring_64",
         .about = "messages per second in rings over up to 4 ranks, 64 B, compared with MPI_Testsome",
         .bars = "the best mode at least 1.1 times as many",
         .pieces = {{"compare", compare}, {"testsome", ring::count_by_testsome}, {"order", ring::count_by_order}},
         .judge = judge});
}
