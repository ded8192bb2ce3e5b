// SPDX-License-Identifier: BSD-3-Clause
// heat (apps/heat) on one rank with two threads, which exchanges no messages: the best variant with tasks compared with
// MPI only on two ranks.
#include "heat/compare.hpp"

namespace {

using namespace measure::heat_runs;

void judge(measure::session &session) {
    compare(session, "balanced", {{.ranks = 1, .threads = 2}}, 1,
            {{.variant = mpi_only, .of = {.ranks = 2, .threads = 1}, .bar = 0.9}});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "heat_threads",
                          .about = "heat on one rank with two threads, with tasks, compared with MPI only on two ranks",
                          .bars = "at least 0.9 times the speed",
                          .pieces = {{"one", one}},
                          .judge = judge});
}
