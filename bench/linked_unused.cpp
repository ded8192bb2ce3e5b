// SPDX-License-Identifier: BSD-3-Clause
// The cost of linking Thence without using it: the same work with and without Thence linked, before the first use and
// after one continuation has run (the engine is chosen, hooks are installed, nothing is outstanding).
#include "measure/benchmark.hpp"

#include <mpi.h>

#ifndef THENCE_BENCH_WITHOUT // compiled a second time, without Thence, as linked_unused_without
#include <thence/mpix_continue.h>
#endif

namespace {

void use_once(measure::work &work) {
#ifndef THENCE_BENCH_WITHOUT
    if (work.parameter("used") != 0) {
        int in = 0;
        int out = 0;
        int flag = 0;
        MPI_Request receive;
        MPI_Request cr;
        MPIX_Continue_init(&cr, MPI_INFO_NULL);
        MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &receive);
        MPIX_Continue(
            &receive, &flag, [](MPI_Status *, void *) {}, nullptr, MPI_STATUS_IGNORE, cr);
        MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
        MPI_Wait(&cr, MPI_STATUS_IGNORE);
        MPI_Request_free(&cr);
    }
#else
    (void)work;
#endif
}

void exchange(measure::work &work) {
    use_once(work);
    int in = 0;
    int out = 0;
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            MPI_Request receive;
            MPI_Request send;
            MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &receive);
            MPI_Isend(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &send);
            MPI_Wait(&receive, MPI_STATUS_IGNORE);
            MPI_Wait(&send, MPI_STATUS_IGNORE);
        }
    });
}

void test(measure::work &work) {
    use_once(work);
    int in = 0;
    int out = 0;
    MPI_Request receive;
    MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &receive);
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            int flag = 0;
            MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
        }
    });
    MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
}

void compare(measure::session &session, const std::string &work, const std::string &text, long iterations) {
    measure::job job{.work = work, .few = iterations, .many = 6 * iterations};
    job.program = "linked_unused_without";
    const measure::sample without = session.instructions(job);
    job.program = "linked_unused";
    for (const bool used : {false, true}) {
        job.parameters = {{"used", used ? 1 : 0}};
        const measure::sample with = session.instructions(job);
        session.add({.name = text + (used ? ", after a continuation has run" : ", before first use"),
                     .found = measure::difference(with, without),
                     .unit = "instructions",
                     .kind = measure::bar_kind::at_most,
                     .bar = 25,
                     .aim = 6,
                     .against = "the same program without Thence",
                     .side_unit = "instructions",
                     .ours = with.value,
                     .baseline = without.value,
                     .to_beat = work == "test" ? "prototype in Open MPI: 54" : "paper: 12"});
    }
}

void judge(measure::session &session) {
    compare(session, "exchange", "MPI_Irecv, MPI_Isend and two MPI_Wait", 5000);
    compare(session, "test", "incomplete MPI_Test", 20000);
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "linked_unused",
                          .about = "cost of linking Thence to a program that does not use it, or no longer uses it",
                          .bars = "at most 25 instructions per message or call, aim 6",
                          .pieces = {{"exchange", exchange}, {"test", test}},
                          .judge = judge});
}
