// SPDX-License-Identifier: BSD-3-Clause
// The variants of latency_mt: what a lane is, and how it waits for its message.
#pragma once

#include "lane.hpp"

#include "common/variant.hpp"

#include <mpi.h>
#include <span>
#include <vector>

namespace latency_mt {

struct Run {
    MPI_Comm comm;
    int peer;
    std::vector<Lane> lanes;
    Rounds rounds;
    int threads = 1; // worker threads of a rank, for fibers and ULTs
};

void solve_threads(Run &run);
void solve_waitany(Run &run);
// With Boost.Fiber only:
void solve_fibers(Run &run);
void solve_fibers_yield(Run &run);
// With Argobots only:
void solve_argobots(Run &run);
void solve_argobots_yield(Run &run);

struct Variant : apps::VariantInfo {
    void (*solve)(Run &);
    bool has_workers = false; // its lanes can be shared by several threads
};
std::span<const Variant> variants();

struct Latency {
    double microseconds;
    std::optional<double> others; // the same for the lanes that are not more expensive; only if some lanes are
    std::string wrong;            // the first wrong byte that this rank saw
};
// Half a round trip: from the first lane's begin to the last lane's end, divided by the rounds. First all bytes of a
// few rounds are checked, without timing. Collective over two ranks.
Latency measure_latency(const Variant &variant, MPI_Comm comm, int rank, int in_flight, int bytes, int rounds,
                        const Computing &computing = {}, int threads = 1);

} // namespace latency_mt
