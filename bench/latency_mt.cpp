// SPDX-License-Identifier: BSD-3-Clause
// The application latency_mt (apps/latency_mt) for 8 B and 8 messages in flight: fibers compared with threads. Each run
// is two processes of its own, so that no thread of one variant takes time from the other, and the variants alternate.
//
// Threads that spin are fast until the system takes a core away from one of them. On two cores that happens after some
// milliseconds, and from then on a message waits for whole time slices. So threads are measured twice: in runs that end
// before it, spinning or yielding, whichever is faster, which is the best that they reach; and in longer runs,
// yielding.
//
// The limit is one thread without fibers, which waits for all messages in MPI_Waitany: it makes the same calls to send
// and receive, and has nothing to switch.
#include "judges/latency_mt.hpp"
#include "measure/benchmark.hpp"

#include "latency_mt/variants.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace {

constexpr int in_flight = 8, bytes = 8;
// In the order of the parameter `variant`.
constexpr std::array names{"threads", "waitany", "fibers"};
constexpr std::size_t threads = 0, waitany = 1, fibers = 2;
const std::vector<std::string> yielding{"OMPI_MCA_mpi_yield_when_idle=1", "MPIR_CVAR_POLLS_BEFORE_YIELD=1",
                                        "I_MPI_WAIT_MODE=1"};

void one(measure::work &work) {
    const char *name = names[static_cast<std::size_t>(work.parameter("variant"))];
    const latency_mt::Latency found =
        latency_mt::measure_latency(*apps::find_variant(latency_mt::variants(), name), MPI_COMM_WORLD, work.rank(),
                                    in_flight, bytes, static_cast<int>(work.parameter("rounds")));
    if (!found.wrong.empty()) {
        std::fprintf(stderr, "latency_mt: rank %d: %s\n", work.rank(), found.wrong.c_str());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    work.result("us", found.microseconds);
}

// `bound`: each rank to one core, as launchers do by default; else its threads may use all cores.
double microseconds(measure::session &session, std::size_t variant, bool bound, long rounds,
                    const std::vector<std::string> &environment) {
    return session
        .together(2, {.work = "one",
                      .threads = variant == threads ? measure::level::multiple : measure::level::single,
                      .parameters = {{"variant", static_cast<long>(variant)}, {"rounds", rounds}},
                      .environment = environment,
                      .threads_per_rank = bound ? 1 : in_flight})
        .at("us");
}

void judge(measure::session &session) {
    const int repeats = session.quick() ? 3 : 9;
    const long brief = 200, many = session.quick() ? 2000 : 20000;
    const auto of_threads = [&](long rounds, const std::vector<std::string> &environment) {
        return std::min(microseconds(session, threads, true, rounds, environment),
                        microseconds(session, threads, false, rounds, environment));
    };
    std::vector<double> ours, plain, best, lasting;
    for (int i = 0; i < repeats; ++i) {
        ours.push_back(microseconds(session, fibers, true, many, {}));
        plain.push_back(microseconds(session, waitany, true, many, {}));
        best.push_back(std::min(of_threads(brief, {}), of_threads(brief, yielding)));
        lasting.push_back(of_threads(session.quick() ? 50 : 300, yielding));
    }
    session.add(measure::latency_runs::compared("8 B, 8 messages in flight",
                                                "8 threads per rank in MPI_Recv, before any of them loses its core",
                                                ours, best, plain));
    session.add(measure::latency_runs::compared("8 B, 8 messages in flight, longer",
                                                "8 threads per rank in MPI_Recv that yield", ours, lasting, plain));
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
