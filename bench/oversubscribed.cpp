// SPDX-License-Identifier: BSD-3-Clause
// More ranks than processors, in a program that knows nothing of Thence: a barrier and a small reduction, as MPI waits and
// under `thence run --wait=sleep`.
#include "measure/benchmark.hpp"
#include "measure/busy_processes.hpp"
#include "measure/clock.hpp"

#include <mpi.h>

#include <string>

namespace {

using measure::now;

// Microseconds of one call.
template <class Call> double time_of(Call call, int count) {
    for (int i = 0; i < 5; ++i) {
        call();
    }
    const measure::nanoseconds begun = now();
    for (int i = 0; i < count; ++i) {
        call();
    }
    return static_cast<double>(now() - begun) / 1000 / count;
}

void calls(measure::work &work) {
    const int count = work.quick() ? 50 : 300;
    work.result("barrier", time_of([] { MPI_Barrier(MPI_COMM_WORLD); }, count));
    work.result("allreduce", time_of(
                                 [] {
                                     const long one = 1;
                                     long sum = 0;
                                     MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
                                 },
                                 count));
}

void judge(measure::session &session) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    // Waiting ranks of Open MPI yield by themselves if they are more than the processors.
    const bool yields = std::string(version).find("Open MPI") != std::string::npos;
    for (const int times : {2, 4}) {
        const int ranks = times * measure::processors();
        measure::job what{.work = "calls", .threads = measure::level::single};
        const measure::numbers before = session.together(ranks, what);
        what.run_options = {"--wait=sleep"};
        const measure::numbers after = session.together(ranks, what);
        for (const std::string call : {"barrier", "allreduce"}) {
            const double speed = before.at(call) / after.at(call);
            session.add({.name = call + ", " + std::to_string(ranks) + " ranks on " +
                                 std::to_string(measure::processors()) + " processors",
                         .found = {speed, speed, speed},
                         .unit = "times the speed",
                         .kind = measure::bar_kind::at_least,
                         .bar = yields ? 1 / 1.1 : 5,
                         .against = "as MPI waits",
                         .side_unit = "microseconds",
                         .ours = after.at(call),
                         .baseline = before.at(call)});
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "oversubscribed",
                          .about = "an unchanged program with more ranks than processors, under `thence run "
                                   "--wait=sleep`, compared with how MPI waits",
                          .bars =
                              "at least 5 times the speed on MPICH and Intel MPI; on Open MPI, whose ranks yield by "
                              "themselves, at most 1.1 times as long",
                          .pieces = {{"calls", calls}},
                          .judge = judge});
}
