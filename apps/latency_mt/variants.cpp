// SPDX-License-Identifier: BSD-3-Clause
#include "variants.hpp"

#include <algorithm>
#include <array>

namespace latency_mt {
namespace {

// Not constexpr, since with some MPIs the thread levels are no constant expressions.
const std::array table{
    Variant{{"threads", "a thread of the operating system for each message, MPI_Send and MPI_Recv", MPI_THREAD_MULTIPLE,
             true, false},
            solve_threads},
    Variant{{"waitany", "one thread, plain MPI: a pending receive for each message, MPI_Waitany", MPI_THREAD_SINGLE,
             false, false},
            solve_waitany},
#ifdef LATENCY_MT_HAVE_FIBER
    Variant{{"fibers", "a fiber of Boost.Fiber for each message, on --threads; block() (thence/fiber.hpp)",
             MPI_THREAD_SINGLE, false, true},
            solve_fibers,
            true},
    Variant{
        {"fibers-yield", "the same without Thence: a fiber calls MPI_Test and yields", MPI_THREAD_SINGLE, false, false},
        solve_fibers_yield,
        true},
#endif
#ifdef LATENCY_MT_HAVE_ARGOBOTS
    Variant{{"argobots", "a user-level thread of Argobots for each message, on --threads; thence_task_wait()",
             MPI_THREAD_SINGLE, false, true},
            solve_argobots,
            true},
    Variant{{"argobots-yield", "the same without Thence: a user-level thread calls MPI_Test and yields",
             MPI_THREAD_SINGLE, false, false},
            solve_argobots_yield,
            true},
#endif
};

Run make_run(MPI_Comm comm, int rank, int in_flight, int bytes, Rounds rounds, const Computing &computing,
             int threads) {
    Run run{comm, 1 - rank, {}, rounds, threads};
    for (int i = 0; i < in_flight; ++i) {
        run.lanes.emplace_back(i, rank, bytes, computing.of(rank, i));
    }
    return run;
}

std::string first_wrong(const Run &run) {
    for (const Lane &lane : run.lanes) {
        if (!lane.wrong().empty()) {
            return lane.wrong();
        }
    }
    return {};
}

// From the first begin to the last end of the lanes that `counts` gets the number of, for half a round trip; none if it
// counts no lane.
template <class Counts> std::optional<double> latency(const Run &run, Counts counts) {
    std::optional<apps::Nanoseconds> begin, end;
    for (const Lane &lane : run.lanes) {
        if (counts(lane.tag())) {
            begin = std::min(begin.value_or(lane.begin), lane.begin);
            end = std::max(end.value_or(lane.end), lane.end);
        }
    }
    if (!begin) {
        return {};
    }
    return static_cast<double>(*end - *begin) * 1e-3 / (2.0 * run.rounds.timed);
}

} // namespace

std::span<const Variant> variants() {
    return table;
}

Latency measure_latency(const Variant &variant, MPI_Comm comm, int rank, int in_flight, int bytes, int rounds,
                        const Computing &computing, int threads) {
    Run checked = make_run(comm, rank, in_flight, bytes, {.warm_up = 0, .timed = 3, .whole = true}, computing, threads);
    variant.solve(checked);
    Run timed = make_run(comm, rank, in_flight, bytes, {.warm_up = rounds / 10 + 1, .timed = rounds, .whole = false},
                         computing, threads);
    MPI_Barrier(comm);
    variant.solve(timed);
    const bool of_lanes = computing.imbalance && computing.imbalance->part == apps::Imbalance::lanes;
    const std::string wrong = first_wrong(checked);
    return {*latency(timed, [](int) { return true; }),
            latency(timed, [&](int lane) { return of_lanes && !computing.is_dear(rank, lane); }),
            wrong.empty() ? first_wrong(timed) : wrong};
}

} // namespace latency_mt
