// SPDX-License-Identifier: BSD-3-Clause
// The cost of one message that completes while 10,000 other operations are outstanding, compared with a plain receive
// while no other operation is outstanding.
//
// The other operations use a communicator of their own, so that the cost of MPI's matching does not grow.
#include "measure/benchmark.hpp"

#include <thence/mpix_continue.h>
#include <vector>

namespace {

void set_flag(MPI_Status *, void *data) {
    *static_cast<bool *>(data) = true;
}

void plain(measure::work &work) {
    int in = 0;
    int out = 0;
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            MPI_Request receive;
            MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &receive);
            MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
            MPI_Wait(&receive, MPI_STATUS_IGNORE);
        }
    });
}

void among_others(measure::work &work) {
    const long others = work.parameter("others");
    MPI_Comm communicator_of_others;
    MPI_Comm_dup(MPI_COMM_SELF, &communicator_of_others);
    MPI_Request cr;
    MPIX_Continue_init(&cr, MPI_INFO_NULL);
    std::vector<int> buffers(static_cast<std::size_t>(others));
    bool ignored = false;
    int flag = 0;
    for (int i = 0; i < others; ++i) {
        MPI_Request receive;
        MPI_Irecv(&buffers[i], 1, MPI_INT, 0, i, communicator_of_others, &receive);
        MPIX_Continue(&receive, &flag, set_flag, &ignored, MPI_STATUS_IGNORE, cr);
    }
    int in = 0;
    int out = 0;
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            MPI_Request receive;
            bool done = false;
            MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &receive);
            MPIX_Continue(&receive, &flag, set_flag, &done, MPI_STATUS_IGNORE, cr);
            MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
            while (!done) {
                MPI_Test(&cr, &flag, MPI_STATUS_IGNORE);
            }
        }
    });
    for (int i = 0; i < others; ++i) {
        MPI_Send(&out, 1, MPI_INT, 0, i, communicator_of_others);
    }
    MPI_Wait(&cr, MPI_STATUS_IGNORE);
    MPI_Request_free(&cr);
    MPI_Comm_free(&communicator_of_others);
}

void judge(measure::session &session) {
    const std::string engine = session.engine();
    const measure::sample baseline = session.instructions(
        measure::without_interposition({.work = "plain", .few = 1000, .many = 6000}, "one_of_many"));
    for (const long others : {0L, 10000L}) {
        const measure::sample ours = session.instructions(
            {.work = "among_others", .parameters = {{"others", others}}, .few = 1000, .many = 6000});
        const bool judged = others != 0 && engine == "openmpi";
        session.add({.name = "with a continuation, " + std::to_string(others) + " others outstanding, engine " + engine,
                     .found = measure::ratio(ours, baseline),
                     .unit = "times the instructions",
                     .kind = judged ? measure::bar_kind::at_most : measure::bar_kind::none,
                     .bar = 1.5,
                     .against = "MPI_Irecv, MPI_Send, MPI_Wait with no other operation",
                     .side_unit = "instructions per message",
                     .ours = ours.value,
                     .baseline = baseline.value,
                     .to_beat = others != 0 ? "TAMPI 4.1 on Open MPI: 494,565 instructions" : ""});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "one_of_many",
         .about = "cost of one message while 10,000 other operations are outstanding, compared with a plain receive",
         .bars = "at most 1.5 times the plain receive on Open MPI",
         .pieces = {{"plain", plain}, {"among_others", among_others}},
         .judge = judge});
}
