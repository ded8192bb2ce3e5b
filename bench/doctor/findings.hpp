// SPDX-License-Identifier: BSD-3-Clause
// What `thence doctor` has found, and what follows from it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace doctor {

// A transfer beside computation that takes as long. Times in milliseconds; those of several runs are their medians.
struct overlap {
    std::string operation;
    long bytes = 0;   // each way
    double alone = 0; // the transfer without computation
    double computation = 0;
    double plain = 0;                       // both together, as the program is
    double with_progress = 0;               // under `thence run --progress`
    std::vector<double> plain_runs;         // of which `plain` is the median
    std::vector<double> with_progress_runs; // the same
    std::string failed;                     // why it was not measured; empty if it was
    // It works as the program is, and not with progress; and what Thence said then.
    bool fails_with_progress = false;
    std::string why_with_progress;
    long seconds_with_progress = 0; // after which it was still running, and was killed; 0: it has ended by itself

    // The part of the transfer that is hidden behind the computation. Noise may bring it below 0 or above 1.
    double hidden(double together) const { return (alone + computation - together) / alone; }
    // How many times as fast with progress.
    double gain() const { return plain / with_progress; }
};

// One figure as the program is and with the switch, in the unit that its name has.
struct both_ways {
    double plain = 0;
    double with_switch = 0;
};

struct findings {
    int processors = 0; // of a host
    int of_a_rank = 0;  // on so many of them the launcher lets a rank run; 0: unknown
    int hosts = 0;      // on which the two ranks ran; 0: unknown
    std::vector<overlap> overlaps;
    std::optional<both_ways> round_trip_us; // --progress; 8 bytes
    std::optional<both_ways> message_us;    // --progress; 64 of 8 bytes at a time, each
    std::optional<both_ways> multiple_us;   // the round trip at MPI_THREAD_MULTIPLE, without Thence
    std::optional<both_ways> waiting_share; // --wait=sleep: percent of a processor
    std::optional<both_ways> late_us;       // --wait=sleep: until a waiting rank knows of a message; of one host only
    int oversubscribed_ranks = 0;
    std::optional<both_ways> barrier_us;   // --wait=sleep: with so many ranks
    std::vector<std::string> not_measured; // what, and why

    // Of all hosts, on which the launcher may place more ranks.
    int all_processors() const { return processors * std::max(1, hosts); }
};

struct advice {
    std::vector<std::string> sentences;
    std::vector<std::string> switches; // of `thence run` that pay here
};
advice advise(const findings &found);

// What Thence says in this text, which a run wrote to standard error: the first line that begins with thence[RANK]:,
// without that. Empty if there is none.
std::string said_by_thence(const std::string &text);

// The runs of one transfer, which have alternated, become its times.
void set_runs(overlap &result, std::vector<double> plain, std::vector<double> with_progress);

// Notes that it works as the program is, and not with progress, which has thrown this.
void failed_with_progress(overlap &result, const std::runtime_error &error);

void to_json(nlohmann::json &json, const findings &found);

} // namespace doctor
