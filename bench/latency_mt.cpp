// SPDX-License-Identifier: BSD-3-Clause
// The application latency_mt (apps/latency_mt) for 8 B and 8 messages in flight: fibers compared with threads. Each run is two
// processes of its own, so that no thread of one variant takes time from the other, and the variants alternate.
#include "measure/benchmark.hpp"

#include "latency_mt/variants.hpp"

#include <cstdio>

namespace {

constexpr int in_flight = 8, bytes = 8;
// There are more threads than processors: a thread that waits must yield. The same for both variants.
const std::vector<std::string> yielding{"OMPI_MCA_mpi_yield_when_idle=1", "MPIR_CVAR_POLLS_BEFORE_YIELD=1",
                                        "I_MPI_WAIT_MODE=1"};

void one(measure::work &work) {
    const char *name = work.parameter("fibers") != 0 ? "fibers" : "threads";
    const latency_mt::Latency found =
        latency_mt::measure_latency(*apps::find_variant(latency_mt::variants(), name), MPI_COMM_WORLD, work.rank(),
                                    in_flight, bytes, static_cast<int>(work.parameter("rounds")));
    if (!found.wrong.empty()) {
        std::fprintf(stderr, "latency_mt: rank %d: %s\n", work.rank(), found.wrong.c_str());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    work.result("us", found.microseconds);
}

void judge(measure::session &session) {
    const int repeats = session.quick() ? 3 : 9;
    std::vector<double> fibers, threads, ratios;
    for (int i = 0; i < repeats; ++i) {
        const auto run = [&](long with_fibers, measure::level level, long rounds) {
            return session
                .together(2, {.work = "one",
                              .threads = level,
                              .parameters = {{"fibers", with_fibers}, {"rounds", rounds}},
                              .environment = yielding})
                .at("us");
        };
        fibers.push_back(run(1, measure::level::single, session.quick() ? 2000 : 20000));
        threads.push_back(run(0, measure::level::multiple, session.quick() ? 50 : 500));
        ratios.push_back(fibers.back() / threads.back());
    }
    session.add({.name = "8 B, 8 messages in flight",
                 .found = measure::median_of(ratios),
                 .unit = "times the latency",
                 .kind = measure::bar_kind::at_most,
                 .bar = 0.5,
                 .against = "8 threads per rank in MPI_Recv",
                 .side_unit = "microseconds, half a round trip",
                 .ours = measure::median_of(fibers).value,
                 .baseline = measure::median_of(threads).value,
                 .note = "fibers use MPI_THREAD_SINGLE, threads need MPI_THREAD_MULTIPLE"});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "latency_mt",
         .about = "latency with 8 messages in flight: a fiber for each, compared with a thread for each",
         .bars = "at most 0.5 times the latency",
         .pieces = {{"one", one}},
         .judge = judge});
}
