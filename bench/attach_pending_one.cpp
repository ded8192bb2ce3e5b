// SPDX-License-Identifier: BSD-3-Clause
// One receive that is pending when its continuation is attached, compared with completing the same receive with
// MPI_Wait. Unlike in attach_vs_waitall no cost is shared by a batch: each round waits for its one continuation.
#include "measure/benchmark.hpp"
#include "measure/self_receive.hpp"

#include <thence/mpix_continue.h>

namespace {

void nothing(MPI_Status *, void *) {}

void attach(measure::work &work) {
    int in = 0;
    int out = 0;
    MPI_Request cr;
    MPIX_Continue_init(&cr, MPI_INFO_NULL);
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            MPI_Request receive;
            int flag = 0;
            MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &receive);
            MPIX_Continue(&receive, &flag, nothing, nullptr, MPI_STATUS_IGNORE, cr);
            measure::send_to_self(out);
            MPI_Wait(&cr, MPI_STATUS_IGNORE);
        }
    });
    MPI_Request_free(&cr);
}

void judge(measure::session &session) {
    const std::string engine = session.engine();
    for (const measure::level threads : {measure::level::single, measure::level::multiple}) {
        const measure::sample ours =
            session.instructions({.work = "attach", .threads = threads, .few = 2000, .many = 12000});
        const measure::sample baseline = session.instructions(measure::without_interposition(
            {.work = "wait", .threads = threads, .few = 2000, .many = 12000}, "attach_pending_one"));
        const bool native = engine == "openmpi"; // for other engines attach_vs_waitall_portable has a bar
        session.add({.name = std::string(measure::name_of(threads)) + ", engine " + engine,
                     .found = measure::difference(ours, baseline),
                     .unit = "instructions per continuation",
                     .kind = native ? measure::bar_kind::at_most : measure::bar_kind::none,
                     .bar = 150,
                     .against = "MPI_Wait on the same receive",
                     .side_unit = "instructions per message",
                     .ours = ours.value,
                     .baseline = baseline.value,
                     .to_beat = threads == measure::level::single ? "prototype in Open MPI: +594"
                                                                  : "prototype in Open MPI: +684"});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "attach_pending_one",
                          .about = "cost of one continuation on one pending receive, compared with MPI_Wait",
                          .bars = "at most +150 instructions on Open MPI, at both thread levels",
                          .pieces = {{"wait", measure::wait_for_self_receive}, {"attach", attach}},
                          .judge = judge});
}
