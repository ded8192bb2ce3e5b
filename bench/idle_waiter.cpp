// SPDX-License-Identifier: BSD-3-Clause
// A rank that waits in MPI_Recv, in a program that knows nothing of Thence: the share of a processor that it uses, and
// how late it is, as MPI waits and under `thence run --wait=sleep`.
#include "measure/benchmark.hpp"
#include "measure/clock.hpp"
#include "measure/hosts.hpp"
#include "measure/limit.hpp"

#include <mpi.h>

#include <vector>

namespace {

using measure::nanoseconds;
using measure::now;

// Rank 1 sends after `pause`, rank 0 waits. @return how late rank 0 knows, in microseconds: meaningless unless both run
// on one host, since each host has a clock of its own.
double late(int rank, nanoseconds pause) {
    nanoseconds sent = 0;
    if (rank == 1) {
        measure::sleep_for(pause);
        sent = now();
        MPI_Send(&sent, 1, MPI_LONG_LONG, 0, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&sent, 1, MPI_LONG_LONG, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sent = now() - sent;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return static_cast<double>(sent) / 1000;
}

// The parameter `milliseconds`: how long rank 0 waits at first. The result `late` is there if both ranks run on one
// host.
void waits(measure::work &work) {
    const nanoseconds time = 1'000'000 * work.parameter("milliseconds");
    const nanoseconds used = measure::processor_time();
    const nanoseconds begun = now();
    late(work.rank(), time);
    work.result("share",
                100 * static_cast<double>(measure::processor_time() - used) / static_cast<double>(now() - begun));
    const int hosts = measure::hosts_of_two_ranks();
    work.result("hosts", hosts);
    if (hosts != 1) {
        return;
    }
    const int count = work.quick() ? 30 : 200;
    std::vector<double> found;
    found.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        found.push_back(late(work.rank(), 2'000'000LL + 2'000'000LL * (i * 7 % 10))); // not periodic
    }
    work.result("late", measure::median_of(found).value);
}

// A process that only sleeps, as long each time as a rank that has waited for a second.
void sleeps(measure::work &work) {
    const nanoseconds used = measure::processor_time();
    const nanoseconds begun = now();
    while (now() - begun < 1'000'000'000) {
        measure::sleep_for(1'000'000);
    }
    work.result("share",
                100 * static_cast<double>(measure::processor_time() - used) / static_cast<double>(now() - begun));
}

void judge(measure::session &session) {
    measure::job what{.work = "waits",
                      .threads = measure::level::single,
                      .parameters = {{"milliseconds", 5000}},
                      .environment = measure::waiting_not_tuned};
    const measure::numbers before = session.together(2, what);
    what.run_options = {"--wait=sleep"};
    const measure::numbers after = session.together(2, what);
    const auto add = [&](const std::string &name, const std::string &result, const std::string &unit, double bar,
                         const measure::limit &limit) {
        const double value = after.at(result);
        measure::figure added{.name = name,
                              .found = {value, value, value},
                              .unit = unit,
                              .kind = measure::bar_kind::at_most,
                              .bar = bar,
                              .against = "as MPI waits",
                              .side_unit = unit,
                              .ours = value,
                              .baseline = before.at(result)};
        measure::add_limit(added, limit);
        session.add(added);
    };
    add("processor time of 5 s in MPI_Recv", "share", "% of one processor", 3,
        {.what = "a process that only sleeps, 1 ms each time", .value = session.alone({.work = "sleeps"}).at("share")});
    if (after.at("hosts") != 1) {
        return session.skip("message after 2 to 20 ms: not measured, the ranks run on two hosts, whose clocks differ");
    }
    add("message after 2 to 20 ms", "late", "microseconds until the receiver knows, median", 60,
        {.what = "as MPI waits, which does not sleep", .value = before.at("late")});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "idle_waiter",
         .about = "a rank of an unchanged program that waits in MPI_Recv under `thence run --wait=sleep`",
         .bars = "at most 3 % of a processor for 5 s of waiting; median at most 60 microseconds late",
         .pieces = {{"waits", waits}, {"sleeps", sleeps}},
         .judge = judge});
}
