// SPDX-License-Identifier: BSD-3-Clause
// The cost of attaching an empty continuation to each of 64 pending receives, completing them and running the
// continuations, compared with completing the same receives with MPI_Waitall. The bar is for the native engine of Open
// MPI; attach_vs_waitall_portable measures the engine for any MPI.
#include "measure/benchmark.hpp"

#include <thence/mpix_continue.h>

namespace {

constexpr int batch = 64;

void nothing(MPI_Status *, void *) {}

// One iteration: `batch` receives and sends to self. Both sides of the comparison complete the sends in the same way.
class messages {
public:
    template <class Posted> void exchange(Posted &&posted) {
        for (int i = 0; i < batch; ++i) {
            MPI_Irecv(&in_[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &receives[i]);
            posted(receives[i]);
        }
        for (int i = 0; i < batch; ++i) {
            MPI_Isend(&out_[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &sends_[i]);
        }
        MPI_Waitall(batch, sends_, MPI_STATUSES_IGNORE);
    }
    MPI_Request receives[batch];

private:
    MPI_Request sends_[batch];
    int in_[batch] = {};
    int out_[batch] = {};
};

void waitall(measure::work &work) {
    messages m;
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            m.exchange([](MPI_Request &) {});
            MPI_Waitall(batch, m.receives, MPI_STATUSES_IGNORE);
        }
    });
}

void attach(measure::work &work) {
    messages m;
    MPI_Request cr;
    MPIX_Continue_init(&cr, MPI_INFO_NULL);
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            m.exchange([&](MPI_Request &receive) {
                int flag = 0;
                MPIX_Continue(&receive, &flag, nothing, nullptr, MPI_STATUS_IGNORE, cr);
            });
            MPI_Wait(&cr, MPI_STATUS_IGNORE);
        }
    });
    MPI_Request_free(&cr);
}

void judge(measure::session &session) {
    const std::string engine = session.engine();
    if (engine != "openmpi") {
        session.skip("the bar is for the native engine of Open MPI, and this MPI runs on the engine " + engine +
                     "; see attach_vs_waitall_portable");
        return;
    }
    for (const measure::level threads : {measure::level::single, measure::level::multiple}) {
        const measure::sample ours = session.instructions({.work = "attach", .threads = threads});
        const measure::sample baseline = session.instructions(
            measure::without_interposition({.work = "waitall", .threads = threads}, "attach_vs_waitall"));
        session.add({.name = measure::name_of(threads),
                     .found = measure::difference(ours, baseline, batch),
                     .unit = "instructions per continuation",
                     .kind = measure::bar_kind::at_most,
                     .bar = 110,
                     .aim = 0,
                     .against = "MPI_Waitall on the same 64 receives",
                     .side_unit = "instructions per message",
                     .ours = ours.value / batch,
                     .baseline = baseline.value / batch,
                     .to_beat = threads == measure::level::single ? "prototype in Open MPI: +329"
                                                                  : "prototype in Open MPI: +380"});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "attach_vs_waitall",
                          .about = "cost to attach, complete and run an empty continuation, compared with MPI_Waitall",
                          .bars = "at most +110 instructions per continuation on Open MPI, at both thread levels",
                          .pieces = {{"waitall", waitall}, {"attach", attach}},
                          .judge = judge});
}
