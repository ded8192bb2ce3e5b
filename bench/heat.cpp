// SPDX-License-Identifier: BSD-3-Clause
// heat (apps/heat) on two processors: the best variant with tasks compared with fork-join and with MPI only, on a plate
// that costs the same everywhere, and on one of which half is five times as expensive. Then four independent plates.
//
// MPI only has one thread a rank, and its ranks are bound as the launcher does it, which is best for it. A rank with
// more threads is not bound.
//
// Where work is imbalanced, tasks have the two shapes that a user of two processors chooses. Two ranks of which each
// may use both processors exchange messages, as MPI only does; they have the bar. One rank with a thread for each
// processor shares all work among all processors and exchanges no messages; it is shown beside. MPI only cannot do so:
// it has a rank for each processor, and a rank has one half of the plate.
#include "heat/compare.hpp"
#include "heat/plates.hpp"

namespace {

using namespace measure::heat_runs;

void judge(measure::session &session) {
    compare(session, "balanced", {{.ranks = 2, .threads = 1}}, 1,
            {{.variant = fork_join, .of = {.ranks = 2, .threads = 1}, .bar = 1.6},
             {.variant = mpi_only, .of = {.ranks = 2, .threads = 1}, .bar = 0.95}});
    compare(session, "lower half five times as expensive", {{.ranks = 2, .threads = 2}, {.ranks = 1, .threads = 2}}, 5,
            {{.variant = mpi_only, .of = {.ranks = 2, .threads = 1}, .bar = 1.2},
             {.variant = fork_join, .of = {.ranks = 1, .threads = 2}}});
    measure::plate_runs::compare(session, "", 0);
    if (const std::string why = session.why_no_two_hosts(); !why.empty()) {
        session.skip("4 plates on two hosts with a delay of 300 us: not measured, it " + why);
    } else {
        measure::plate_runs::compare(session, "300us", 1.2);
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "heat",
         .about = "heat on two processors: the best variant with tasks compared with fork-join and MPI only",
         .bars = "at least 1.6 times the speed of fork-join and 0.95 times that of MPI only; with imbalance 1.2 times, "
                 "with messages; 4 plates with a delay of 300 us 1.2 times",
         .pieces = {{"one", one}, {"several", measure::plate_runs::several}},
         .judge = judge});
}
