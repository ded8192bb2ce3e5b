// SPDX-License-Identifier: BSD-3-Clause
// Messages per second of two threads, each on the communicator of its own stream, compared with both threads on
// MPI_COMM_WORLD (Zhou et al., figure 4). 8 bytes to self, 64 messages in flight in each thread. The two are measured
// in alternate rounds, so other load on the machine meets both.
#include "measure/benchmark.hpp"
#include "measure/clock.hpp"

#include <array>
#include <atomic>
#include <mpi.h>
#include <thence/stream.h>
#include <thread>
#include <vector>

namespace {

constexpr int threads = 2;
constexpr int window = 64;

void exchange(MPI_Comm comm, int tag, long rounds) {
    std::array<long, window> in{};
    const long out = 1;
    std::array<MPI_Request, std::size_t{2} * window> requests{};
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    for (long i = 0; i < rounds; ++i) {
        for (std::size_t k = 0; k < window; ++k) {
            MPI_Irecv(&in[k], 8, MPI_BYTE, rank, tag, comm, &requests[2 * k]);
        }
        for (std::size_t k = 0; k < window; ++k) {
            MPI_Isend(&out, 8, MPI_BYTE, rank, tag, comm, &requests[2 * k + 1]);
        }
        MPI_Waitall(2 * window, requests.data(), MPI_STATUSES_IGNORE);
    }
}

// Returns messages per second of both threads together.
double rate(const std::array<MPI_Comm, threads> &comms, long rounds) {
    std::atomic<int> ready{0};
    std::array<std::thread, threads> team;
    const auto start_together = [&](int t) {
        ++ready;
        while (ready != threads) {
            std::this_thread::yield();
        }
        exchange(comms[static_cast<std::size_t>(t)], t, rounds);
    };
    const measure::nanoseconds start = measure::now();
    for (int t = 0; t < threads; ++t) {
        team[static_cast<std::size_t>(t)] = std::thread(start_together, t);
    }
    for (std::thread &each : team) {
        each.join();
    }
    return 1e9 * static_cast<double>(rounds * threads * window) / static_cast<double>(measure::now() - start);
}

void both(measure::work &work) {
    std::array<thence_stream, threads> streams{};
    std::array<MPI_Comm, threads> of_streams{};
    std::array<MPI_Comm, threads> world{};
    for (std::size_t t = 0; t < threads; ++t) {
        thence_stream_create(MPI_INFO_NULL, &streams[t]);
        thence_stream_comm_create(MPI_COMM_WORLD, streams[t], &of_streams[t]);
        world[t] = MPI_COMM_WORLD;
    }
    const int repeats = work.quick() ? 5 : 21;
    const long rounds = 1000;
    std::vector<double> ours;
    std::vector<double> baseline;
    std::vector<double> ratio;
    for (int i = -1; i < repeats; ++i) {
        const double a = rate(world, rounds);
        const double b = rate(of_streams, rounds);
        if (i >= 0) { // the first round is a warm-up
            baseline.push_back(a);
            ours.push_back(b);
            ratio.push_back(b / a);
        }
    }
    const measure::sample found = measure::median_of(ratio);
    work.result("ratio", found.value);
    work.result("ratio_low", found.low);
    work.result("ratio_high", found.high);
    work.result("streams", measure::median_of(ours).value);
    work.result("world", measure::median_of(baseline).value);
    for (std::size_t t = 0; t < threads; ++t) {
        MPI_Comm_free(&of_streams[t]);
        thence_stream_free(&streams[t]);
    }
}

void judge(measure::session &session) {
    const bool openmpi = session.engine() == "openmpi";
    const measure::numbers found = session.alone({.work = "both"});
    session.add({.name = "two threads, 8 bytes",
                 .found = {found.at("ratio"), found.at("ratio_low"), found.at("ratio_high")},
                 .unit = "times the messages per second",
                 .kind = measure::bar_kind::at_least,
                 .bar = openmpi ? 1.2 : 1.0,
                 .against = "both threads on MPI_COMM_WORLD",
                 .side_unit = "messages per second",
                 .ours = found.at("streams"),
                 .baseline = found.at("world")});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "stream_rate",
         .about = "messages per second of two threads with a stream each, compared with MPI_COMM_WORLD",
         .bars = "at least 1.2 times on Open MPI, 1.0 times elsewhere",
         .pieces = {{"both", both}},
         .judge = judge});
}
