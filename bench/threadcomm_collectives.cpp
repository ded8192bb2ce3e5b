// SPDX-License-Identifier: BSD-3-Clause
// Barrier and a sum of 8 bytes between the 2 or 4 threads of a process on a thread communicator. Beside it: MPICH's own
// thread communicator where the MPI has it, in alternate blocks, and in a run of its own plain MPI between as many
// processes.
#include "measure/benchmark.hpp"
#include "measure/clock.hpp"
#include "threadcomm/team.hpp"

namespace {

using namespace threadcomms;

int calls_of(const measure::work &work) { // in a block
    return work.quick() ? 100 : 500;
}
int rounds_of(const measure::work &work) {
    return work.quick() ? 5 : 31;
}

// Microseconds of one call.
template <class Call> double time_of(int calls, Call call) {
    call(); // all are here
    const measure::nanoseconds start = measure::now();
    for (int i = 0; i < calls; ++i) {
        call();
    }
    return static_cast<double>(measure::now() - start) / (1000.0 * calls);
}
double barrier(MPI_Comm comm, int calls) {
    return time_of(calls, [=] { MPI_Barrier(comm); });
}
double sum(MPI_Comm comm, int calls) {
    long out = 0;
    const long in = 1;
    return time_of(calls, [&] { MPI_Allreduce(&in, &out, 1, MPI_LONG, MPI_SUM, comm); });
}
// Of MPI itself, without interposition.
double native_barrier(MPI_Comm comm, int calls) {
    return time_of(calls, [=] { PMPI_Barrier(comm); });
}
double native_sum(MPI_Comm comm, int calls) {
    long out = 0;
    const long in = 1;
    return time_of(calls, [&] { PMPI_Allreduce(&in, &out, 1, MPI_LONG, MPI_SUM, comm); });
}

void threads(measure::work &work) {
    const team all(static_cast<int>(work.parameter("threads")));
    const int calls = calls_of(work);
    series barriers;
    series native_barriers;
    series sums;
    series native_sums;
    all.run([&](int number) {
        const auto note = [&](series &to, int round, double time) {
            if (number == 0 && round >= 0) { // the first round is a warm-up
                to.add(time);
            }
        };
        for (int round = -1; round < rounds_of(work); ++round) {
            note(barriers, round, barrier(all.ours, calls));
            note(sums, round, sum(all.ours, calls));
            if (all.has_native()) {
                note(native_barriers, round, native_barrier(all.native, calls));
                note(native_sums, round, native_sum(all.native, calls));
            }
        }
    });
    work.result("native", all.has_native() ? 1 : 0);
    barriers.report(work, "barrier");
    sums.report(work, "sum");
    if (all.has_native()) {
        native_barriers.report(work, "native_barrier");
        native_sums.report(work, "native_sum");
        barriers.report_ratio(work, "to_native_barrier", native_barriers);
        sums.report_ratio(work, "to_native_sum", native_sums);
    }
}

void processes(measure::work &work) {
    const int calls = calls_of(work);
    series barriers;
    series sums;
    for (int round = -1; round < rounds_of(work); ++round) {
        const double one = native_barrier(MPI_COMM_WORLD, calls);
        const double other = native_sum(MPI_COMM_WORLD, calls);
        if (round >= 0) {
            barriers.add(one);
            sums.add(other);
        }
    }
    barriers.report(work, "barrier");
    sums.report(work, "sum");
}

void judge(measure::session &session) {
    for (const int count : {2, 4}) {
        const measure::numbers ours = session.alone({.work = "threads", .parameters = {{"threads", count}}});
        const measure::numbers plain = session.together(count, {.work = "processes"});
        const auto add = [&](const std::string &key, const std::string &name, const std::string &to_beat) {
            const std::string what = name + ", " + std::to_string(count);
            session.add({.name = what + " threads, beside processes",
                         .found = measure::ratio(sample_of(ours, key), sample_of(plain, key)),
                         .unit = "times the time",
                         .against = "the call of MPI between as many processes",
                         .side_unit = "microseconds per call",
                         .ours = ours.at(key),
                         .baseline = plain.at(key),
                         .to_beat = count == 2 ? to_beat : ""});
            if (ours.at("native") != 0) {
                session.add({.name = what + " threads",
                             .found = sample_of(ours, "to_native_" + key),
                             .unit = "times the time",
                             .kind = measure::bar_kind::at_most,
                             .bar = 1.0,
                             .against = "MPICH's own thread communicator",
                             .side_unit = "microseconds per call",
                             .ours = ours.at(key),
                             .baseline = ours.at("native_" + key)});
            }
        };
        add("barrier", "barrier", "MPICH 5.0 between threads: 0.14 us");
        add("sum", "allreduce of 8 B", "MPICH 5.0 between threads: 0.92 to 1.0 us");
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "threadcomm_collectives",
                          .about = "barrier and allreduce of 8 B between the threads of a process on a thread "
                                   "communicator, compared with MPICH's own and with processes",
                          .bars = "at most 1.0 times the time of MPICH's own",
                          .pieces = {{"threads", threads}, {"processes", processes}},
                          .judge = judge});
}
