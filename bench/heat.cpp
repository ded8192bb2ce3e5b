// SPDX-License-Identifier: BSD-3-Clause
// heat (apps/heat) on two ranks: the best variant with tasks compared with fork-join and with MPI only, on a plate that
// costs the same everywhere, and on one of which half is five times as dear.
#include "heat/compare.hpp"

namespace {

using namespace measure::heat_runs;

void judge(measure::session &session) {
    compare(session, "balanced", {.ranks = 2, .threads = 1}, 1,
            {{.variant = 1, .of = {.ranks = 2, .threads = 1}, .bar = 1.6},
             {.variant = 0, .of = {.ranks = 2, .threads = 1}, .bar = 0.95}});
    // Two threads a rank, so that the rank with more work can use both processors.
    compare(session, "rank 1 five times as dear", {.ranks = 2, .threads = 2}, 5,
            {{.variant = 0, .of = {.ranks = 2, .threads = 1}, .bar = 1.2}});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "heat",
         .about = "heat on two ranks: the best variant with tasks compared with fork-join and MPI only",
         .bars = "at least 1.6 times the speed of fork-join and 0.95 times that of MPI only; with imbalance "
                 "1.2 times",
         .pieces = {{"one", one}},
         .judge = judge});
}
