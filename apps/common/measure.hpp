// SPDX-License-Identifier: BSD-3-Clause
// What the recorders of all ranks measured, on rank 0: times, shares of time, and counts of continuations. Shares are
// fractions of ranks x threads x wall clock; idle is the rest.
#pragma once

#include "json_file.hpp"
#include "recorder.hpp"

#include <mpi.h>
#include <optional>
#include <string>
#include <vector>

namespace apps {

// Times of one rank in seconds, summed over its threads. All members are doubles, so that it is sent as one array.
struct RankTimes {
    double compute, start, wait, poll; // as in Activity
    double messages, cells;            // that were sent
    double threads;                    // threads that recorded anything
    double dropped;                    // intervals and messages not recorded
};

struct Shares {
    double compute = 0, mpi = 0, poll = 0, idle = 0;
};

// Results of thence_query and thence_stats_query; the counts are sums over all ranks.
struct ContinuationCounts {
    std::string engine, engine_why, hook;
    unsigned long long attached, immediate, polls;
};

struct Measured {
    double time = 0; // wall clock of the slowest rank
    int ranks = 0, threads = 0;
    std::vector<RankTimes> each;
    std::optional<ContinuationCounts> continuations;

    Shares shares() const;
    double dropped() const;
};

// Collective. On other ranks than 0 the result is empty. `seconds`: wall clock of this rank.
Measured gather(const Recorder &recorder, MPI_Comm comm, int threads, double seconds, bool continuations);

// One line about continuations and one about records that did not fit, if there is anything to say.
void print_notes(const Measured &measured, bool timeline);

// The members that every report has. `ranks_detail` counts sent messages and `cells_sent`.
Json times_json(const Measured &measured);
Json ranks_json(const Measured &measured);
Json continuations_json(const ContinuationCounts &counts);
// Name and version of this MPI: the first line of MPI_Get_library_version.
std::string mpi_name();

} // namespace apps
