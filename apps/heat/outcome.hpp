// SPDX-License-Identifier: BSD-3-Clause
// The results of a run: times of all ranks, the whole field on rank 0, and the result of its comparison.
#pragma once

#include "options.hpp"

namespace heat {

// The plate without its border, row by row.
struct Field {
    int rows = 0, cols = 0;
    std::vector<double> cells;
};

// Times of one rank in seconds, summed over its threads. All members are doubles, so that it is sent as one array.
struct RankTimes {
    double compute, start, wait, poll; // as in Activity
    double messages, cells;            // that were sent
    double threads;                    // threads that recorded anything
    double dropped;                    // intervals and messages not recorded
};

struct Comparison {
    enum Verdict { unchecked, identical, differs } verdict = unchecked;
    std::string against;     // what it was compared with
    std::string text;        // one line of output
    double serial_time = -1; // of the serial run; negative if there was none
};

// Results of thence_query and thence_stats_query; the counts are sums over all ranks.
struct ContinuationCounts {
    std::string engine, engine_why, hook;
    unsigned long long attached, immediate, polls;
};

struct Outcome {
    double time; // wall clock of the slowest rank
    std::optional<ContinuationCounts> continuations;
    std::vector<RankTimes> ranks;
    Comparison comparison;
};

// These gather on rank 0; on other ranks they return empty values.
std::vector<RankTimes> gather_times(const Run &run);
ContinuationCounts gather_continuations(const Run &run);
Field gather_field(const Run &run);
// `offset`: see clock_offset().
void write_timeline(const Run &run, const Options &options, Nanoseconds offset);

Comparison compare(const Field &field, const Field &reference, std::string against);

void write_field(const Field &field, const std::string &file);
Field read_field(const std::string &file);

// The offset to add to this rank's clock to get that of rank 0.
Nanoseconds clock_offset(MPI_Comm comm);

void print_table(const Run &run, const Options &options, const Config &config, const Outcome &outcome);
void write_json(const Run &run, const Options &options, const Config &config, const Outcome &outcome);

} // namespace heat
