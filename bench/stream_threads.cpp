// SPDX-License-Identifier: BSD-3-Clause
// Messages per second of 1 to 8 threads (Zhou et al., figure 4): 8 bytes by MPI_Isend and MPI_Irecv, 64 in flight in
// each thread. Explicit: a stream and its communicator for each thread. Implicit: a duplicate of MPI_COMM_WORLD for
// each thread, which the MPI may map to a channel of its own. One communicator: all threads on MPI_COMM_WORLD.
//
// In one process each thread sends to itself. Between two processes each thread has a partner, where the machine has a
// core for each: threads that share a core wait for each other's time slices.
#include "measure/benchmark.hpp"
#include "measure/clock.hpp"

#include <array>
#include <atomic>
#include <mpi.h>
#include <thence/stream.h>
#include <thread>
#include <vector>

namespace {

constexpr int window = 64;
constexpr std::array thread_counts{1, 2, 4, 8};

// One thread's part. Between two processes rank 0 sends, and gets an answer to each window, as in the paper.
void exchange(MPI_Comm comm, int tag, long rounds) {
    std::array<std::array<char, 8>, window> in{};
    const std::array<char, 8> out{};
    std::array<MPI_Request, std::size_t{2} * window> requests{};
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int peer = size == 1 ? 0 : 1 - rank;
    for (long i = 0; i < rounds; ++i) {
        int started = 0;
        if (size == 1 || rank == 1) {
            for (auto &each : in) {
                MPI_Irecv(each.data(), 8, MPI_BYTE, peer, tag, comm, &requests[static_cast<std::size_t>(started++)]);
            }
        }
        if (size == 1 || rank == 0) {
            for (int k = 0; k < window; ++k) {
                MPI_Isend(out.data(), 8, MPI_BYTE, peer, tag, comm, &requests[static_cast<std::size_t>(started++)]);
            }
        }
        MPI_Waitall(started, requests.data(), MPI_STATUSES_IGNORE);
        if (size != 1) {
            char answer = 0;
            if (rank == 1) {
                MPI_Send(&answer, 1, MPI_BYTE, peer, tag, comm);
            } else {
                MPI_Recv(&answer, 1, MPI_BYTE, peer, tag, comm, MPI_STATUS_IGNORE);
            }
        }
    }
}

// Returns messages per second of all threads together.
double rate(const std::vector<MPI_Comm> &comms, long rounds) {
    const int threads = static_cast<int>(comms.size());
    std::atomic<int> ready{0};
    std::vector<std::thread> team;
    const auto start_together = [&](int t) {
        ++ready;
        while (ready != threads) {
            std::this_thread::yield();
        }
        exchange(comms[static_cast<std::size_t>(t)], t, rounds);
    };
    MPI_Barrier(MPI_COMM_WORLD);
    const measure::nanoseconds start = measure::now();
    for (int t = 1; t < threads; ++t) {
        team.emplace_back(start_together, t);
    }
    start_together(0);
    for (std::thread &each : team) {
        each.join();
    }
    return 1e9 * static_cast<double>(rounds * threads * window) / static_cast<double>(measure::now() - start);
}

struct rates {
    std::vector<double> values;
    void report(const measure::work &work, const std::string &name) const {
        const measure::sample found = measure::median_of(values);
        work.result(name, found.value);
        work.result(name + "_low", found.low);
        work.result(name + "_high", found.high);
    }
};

void all_ways(measure::work &work) {
    const auto threads = static_cast<std::size_t>(work.parameter("threads"));
    std::vector<thence_stream> streams(threads, THENCE_STREAM_NULL);
    std::vector<MPI_Comm> of_streams(threads, MPI_COMM_NULL);
    std::vector<MPI_Comm> duplicates(threads, MPI_COMM_NULL);
    const std::vector<MPI_Comm> world(threads, MPI_COMM_WORLD);
    for (std::size_t t = 0; t < threads; ++t) {
        thence_stream_create(MPI_INFO_NULL, &streams[t]);
        thence_stream_comm_create(MPI_COMM_WORLD, streams[t], &of_streams[t]);
        MPI_Comm_dup(MPI_COMM_WORLD, &duplicates[t]);
    }
    const long rounds = 2000 / static_cast<long>(threads); // NOLINT(clang-analyzer-core.DivideZero): never zero
    rates one;
    rates implicit;
    rates explicit_;
    rates to_one;
    rates to_implicit;
    for (int i = -1; i < (work.quick() ? 5 : 15); ++i) {
        const double of_one = rate(world, rounds);
        const double of_implicit = rate(duplicates, rounds);
        const double of_explicit = rate(of_streams, rounds);
        if (i >= 0) { // the first round is a warm-up
            one.values.push_back(of_one);
            implicit.values.push_back(of_implicit);
            explicit_.values.push_back(of_explicit);
            to_one.values.push_back(of_explicit / of_one);
            to_implicit.values.push_back(of_explicit / of_implicit);
        }
    }
    one.report(work, "one");
    implicit.report(work, "implicit");
    explicit_.report(work, "explicit");
    to_one.report(work, "to_one");
    to_implicit.report(work, "to_implicit");
    for (std::size_t t = 0; t < threads; ++t) {
        MPI_Comm_free(&of_streams[t]);
        MPI_Comm_free(&duplicates[t]);
        thence_stream_free(&streams[t]);
    }
}

void add(measure::session &session, int processes, int threads) {
    const measure::job job{.work = "all_ways", .parameters = {{"threads", threads}}, .threads_per_rank = threads};
    const measure::numbers found = processes == 1 ? session.alone(job) : session.together(processes, job);
    const std::string name = (processes == 1 ? "to self, " : "2 processes, ") + std::to_string(threads) + " threads, ";
    for (const std::string with : {"implicit", "one"}) {
        const std::string ratio = "to_" + with;
        session.add({.name = name + (with == "one" ? "beside one communicator" : "beside implicit"),
                     .found = {found.at(ratio), found.at(ratio + "_low"), found.at(ratio + "_high")},
                     .unit = "times the messages per second",
                     .against = with == "one" ? "all threads on MPI_COMM_WORLD" : "a duplicate for each thread",
                     .side_unit = "messages per second",
                     .ours = found.at("explicit"),
                     .baseline = found.at(with)});
    }
}

void judge(measure::session &session) {
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    for (const int threads : thread_counts) {
        add(session, 1, threads);
    }
    for (const int threads : thread_counts) {
        if (2 * threads <= cores) {
            add(session, 2, threads);
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "stream_threads",
                          .about = "messages per second of 1 to 8 threads: a stream each, compared with a duplicate of "
                                   "MPI_COMM_WORLD each, and with one communicator",
                          .bars = "none",
                          .pieces = {{"all_ways", all_ways}},
                          .judge = judge});
}
