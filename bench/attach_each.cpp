// SPDX-License-Identifier: BSD-3-Clause
// The cost of one call of thence_attach_each() for 64 pending receives, with their completion and callbacks, compared
// with 64 calls of thence_attach().
#include "measure/benchmark.hpp"

#include <thence/thence.h>

namespace {

constexpr int batch = 64;

int nothing(int, MPI_Status *, void *) {
    return MPI_SUCCESS;
}
int nothing_of_each(int, int, MPI_Status *, void *) {
    return MPI_SUCCESS;
}

// One iteration: `attach(receives, cr)` attaches to `batch` receives from self, which are pending.
template <class Attach> void exchange(measure::work &work, Attach &&attach) {
    MPI_Request receives[batch];
    MPI_Request sends[batch];
    int in[batch] = {};
    int out[batch] = {};
    MPI_Request cr = MPI_REQUEST_NULL;
    thence_cr_create(0, -1, MPI_INFO_NULL, &cr);
    work.count([&](long iterations) {
        for (long n = 0; n < iterations; ++n) {
            for (int i = 0; i < batch; ++i) {
                MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &receives[i]);
            }
            attach(receives, cr);
            for (int i = 0; i < batch; ++i) {
                MPI_Isend(&out[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &sends[i]);
            }
            MPI_Waitall(batch, sends, MPI_STATUSES_IGNORE);
            thence_wait(&cr, MPI_STATUS_IGNORE);
        }
    });
    thence_free(&cr);
}

void each(measure::work &work) {
    exchange(work, [](MPI_Request *receives, MPI_Request cr) {
        int complete = 0;
        int indices[batch];
        thence_attach_each(batch, receives, nothing_of_each, nullptr, 0, MPI_STATUSES_IGNORE, cr, &complete, indices);
    });
}

void one_by_one(measure::work &work) {
    exchange(work, [](MPI_Request *receives, MPI_Request cr) {
        for (int i = 0; i < batch; ++i) {
            int flag = 0;
            thence_attach(1, &receives[i], nothing, nullptr, 0, MPI_STATUS_IGNORE, cr, &flag);
        }
    });
}

void judge(measure::session &session) {
    const std::string engine = session.engine();
    for (const measure::level threads : {measure::level::single, measure::level::multiple}) {
        const measure::sample ours = session.instructions({.work = "each", .threads = threads});
        const measure::sample baseline = session.instructions({.work = "one_by_one", .threads = threads});
        session.add({.name = std::string(measure::name_of(threads)) + ", engine " + engine,
                     .found = measure::difference(ours, baseline, batch),
                     .unit = "instructions per continuation",
                     .kind = measure::bar_kind::at_most,
                     .bar = 0,
                     .aim = -20,
                     .against = "64 calls of thence_attach",
                     .side_unit = "instructions per message",
                     .ours = ours.value / batch,
                     .baseline = baseline.value / batch});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "attach_each",
                          .about = "thence_attach_each on 64 receives, compared with 64 calls of thence_attach",
                          .bars = "no instructions more per continuation",
                          .pieces = {{"each", each}, {"one_by_one", one_by_one}},
                          .judge = judge});
}
