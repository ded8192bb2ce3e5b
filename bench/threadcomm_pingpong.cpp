// SPDX-License-Identifier: BSD-3-Clause
// A ping-pong on a thread communicator, between two threads of a process and between two processes (Zhou et al., figure
// 7). Beside it: MPICH's own thread communicator where the MPI has it, a ring without matching, and between processes
// plain messages of MPI. Blocks of all of them alternate, so that other load on the machine meets all.
#include "measure/benchmark.hpp"
#include "measure/round_trip.hpp"
#include "threadcomm/lane.hpp"
#include "threadcomm/team.hpp"

#include <memory>
#include <vector>

namespace {

using namespace threadcomms;

struct message_size {
    int bytes;
    const char *name;
    int round_trips; // in a block
    double bar;      // against MPICH's own between threads; 0: no bar
    const char *to_beat;
};
constexpr message_size sizes[] = {
    {8, "8 B", 1000, 0.6, "MPICH 5.0 between threads: 0.57 us"},
    {4096, "4 KiB", 500, 0, "MPICH 5.0 between threads: 1.5 us"},
    {32768, "32 KiB", 200, 0, "MPICH 5.0 between threads: 4.5 us"},
    {262144, "256 KiB", 50, 0.5, "MPICH 5.0 between threads: 17.8 us"},
    {2097152, "2 MiB", 10, 1.1, "MPICH 5.0 between threads: 123 us"},
};
constexpr int tag = 3;

class player {
public:
    player(bool first, int peer) : first_(first), peer_(peer), in_(sizes[4].bytes), out_(sizes[4].bytes) {}

    double on_own(MPI_Comm comm, const message_size &size) {
        return measure::half_round_trip(
            first_, size.round_trips, [&] { MPI_Send(out_.data(), size.bytes, MPI_BYTE, peer_, tag, comm); },
            [&] { MPI_Recv(in_.data(), size.bytes, MPI_BYTE, peer_, tag, comm, MPI_STATUS_IGNORE); });
    }
    // Of MPI itself, without interposition.
    double on_native(MPI_Comm comm, const message_size &size) {
        return measure::half_round_trip(
            first_, size.round_trips, [&] { PMPI_Send(out_.data(), size.bytes, MPI_BYTE, peer_, tag, comm); },
            [&] { PMPI_Recv(in_.data(), size.bytes, MPI_BYTE, peer_, tag, comm, MPI_STATUS_IGNORE); });
    }
    double on_lanes(lane &to, lane &from, const message_size &size) {
        const auto bytes = static_cast<std::size_t>(size.bytes);
        return measure::half_round_trip(
            first_, size.round_trips, [&] { to.send(out_.data(), bytes); }, [&] { from.receive(in_.data(), bytes); });
    }

private:
    bool first_;
    int peer_;
    std::vector<char> in_;
    std::vector<char> out_;
};

struct results {
    series ours, native, floor, plain;
    void report(const measure::work &work, const message_size &size) const {
        const std::string prefix = std::to_string(size.bytes) + "_";
        ours.report(work, prefix + "ours");
        const auto beside = [&](const series &other, const std::string &name) {
            if (!other.empty()) {
                other.report(work, prefix + name);
                ours.report_ratio(work, prefix + "to_" + name, other);
            }
        };
        beside(native, "native");
        beside(floor, "floor");
        beside(plain, "plain");
    }
};

int rounds_of(const measure::work &work) {
    return work.quick() ? 5 : 31;
}

void threads(measure::work &work) {
    const team both(2);
    const auto lanes = std::make_unique<lane[]>(2);
    results found[std::size(sizes)];
    both.run([&](int number) {
        player mine(number == 0, 1 - number);
        for (std::size_t s = 0; s < std::size(sizes); ++s) {
            for (int round = -1; round < rounds_of(work); ++round) { // memory is touched in a round before the first
                const double ours = mine.on_own(both.ours, sizes[s]);
                const double floor = mine.on_lanes(lanes[number], lanes[1 - number], sizes[s]);
                const double native = both.has_native() ? mine.on_native(both.native, sizes[s]) : 0;
                if (number == 0 && round >= 0) {
                    found[s].ours.add(ours);
                    found[s].floor.add(floor);
                    if (both.has_native()) {
                        found[s].native.add(native);
                    }
                }
            }
        }
    });
    work.result("native", both.has_native() ? 1 : 0);
    for (std::size_t s = 0; s < std::size(sizes); ++s) {
        found[s].report(work, sizes[s]);
    }
}

void processes(measure::work &work) {
    const team one(1);
    results found[std::size(sizes)];
    one.run([&](int) {
        player mine(work.rank() == 0, 1 - work.rank());
        for (std::size_t s = 0; s < std::size(sizes); ++s) {
            for (int round = -1; round < rounds_of(work); ++round) {
                const double ours = mine.on_own(one.ours, sizes[s]);
                const double plain = mine.on_native(MPI_COMM_WORLD, sizes[s]);
                const double native = one.has_native() ? mine.on_native(one.native, sizes[s]) : 0;
                if (round >= 0) {
                    found[s].ours.add(ours);
                    found[s].plain.add(plain);
                    if (one.has_native()) {
                        found[s].native.add(native);
                    }
                }
            }
        }
    });
    work.result("native", one.has_native() ? 1 : 0);
    for (std::size_t s = 0; s < std::size(sizes); ++s) {
        found[s].report(work, sizes[s]);
    }
}

// For instruction counts: a thread sends to itself, so that nobody waits.
void to_self(measure::work &work) {
    const team one(1);
    one.run([&](int) {
        long in = 0;
        const long out = 1;
        work.count([&](long iterations) {
            for (long i = 0; i < iterations; ++i) {
                MPI_Send(&out, 8, MPI_BYTE, 0, tag, one.ours);
                MPI_Recv(&in, 8, MPI_BYTE, 0, tag, one.ours, MPI_STATUS_IGNORE);
            }
        });
    });
}
void to_self_plain(measure::work &work) {
    long in = 0;
    const long out = 1;
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            MPI_Request request = MPI_REQUEST_NULL;
            PMPI_Irecv(&in, 8, MPI_BYTE, 0, tag, MPI_COMM_SELF, &request);
            PMPI_Send(&out, 8, MPI_BYTE, 0, tag, MPI_COMM_SELF);
            PMPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    });
}

measure::figure compare(const measure::numbers &found, const message_size &size, const std::string &what,
                        const std::string &with, const std::string &in_words) {
    const std::string prefix = std::to_string(size.bytes) + "_";
    return {.name = std::string(size.name) + ", " + what,
            .found = sample_of(found, prefix + "to_" + with),
            .unit = "times the time",
            .against = in_words,
            .side_unit = "microseconds, half a round trip",
            .ours = found.at(prefix + "ours"),
            .baseline = found.at(prefix + with)};
}

void judge(measure::session &session) {
    const std::string own = "MPICH's own thread communicator";
    const measure::numbers by_threads = session.alone({.work = "threads"});
    for (const message_size &size : sizes) {
        measure::figure beside = compare(by_threads, size, "two threads, beside a ring", "floor",
                                         "a ring between two threads without matching");
        beside.to_beat = size.to_beat;
        session.add(beside);
        if (by_threads.at("native") != 0) {
            measure::figure each = compare(by_threads, size, "two threads", "native", own);
            each.kind = size.bar > 0 ? measure::bar_kind::at_most : measure::bar_kind::none;
            each.bar = size.bar;
            session.add(each);
        }
    }
    const measure::numbers by_processes = session.together(2, {.work = "processes"});
    for (const message_size &size : sizes) {
        measure::figure each =
            compare(by_processes, size, "two processes", "plain", "MPI_Send and MPI_Recv on MPI_COMM_WORLD");
        each.kind = measure::bar_kind::at_most;
        each.bar = 1.5;
        session.add(each);
        if (by_processes.at("native") != 0) {
            session.add(compare(by_processes, size, "two processes, beside MPICH's", "native", own));
        }
    }
    const measure::sample ours = session.instructions({.work = "to_self", .main_thread_only = true});
    const measure::sample plain = session.instructions({.work = "to_self_plain", .main_thread_only = true});
    session.add({.name = "8 B, a thread to itself",
                 .found = ours,
                 .unit = "instructions per message",
                 .against = "MPI_Irecv, MPI_Send and MPI_Wait on MPI_COMM_SELF",
                 .side_unit = "instructions per message",
                 .ours = ours.value,
                 .baseline = plain.value});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "threadcomm_pingpong",
         .about =
             "ping-pong of 8 B to 2 MiB on a thread communicator, compared with MPICH's own and with plain messages",
         .bars =
             "between threads at most 0.6 times the time of MPICH's own for 8 B, 0.5 times for 256 KiB, 1.1 times for "
             "2 MiB; between processes at most 1.5 times the time of plain messages",
         .pieces =
             {{"threads", threads}, {"processes", processes}, {"to_self", to_self}, {"to_self_plain", to_self_plain}},
         .judge = judge});
}
