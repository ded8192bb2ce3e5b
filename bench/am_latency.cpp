// SPDX-License-Identifier: BSD-3-Clause
// Half a round trip of an active message of 8 bytes, from handler to handler. Compared with MPI_Send and MPI_Recv, in
// alternate blocks.
#include "measure/alternate.hpp"
#include "measure/benchmark.hpp"
#include "measure/clock.hpp"

#include <thence/am.h>

namespace {

constexpr int round_trips = 500; // in one block

struct player {
    int rank;
    int left = 0;
    thence_am am = nullptr;

    player(int mine, unsigned flags) : rank(mine) {
        thence_am_create(MPI_COMM_WORLD, nullptr, 0, &am);
        thence_am_register(am, 0, &answer, this, flags);
    }
    player(const player &) = delete;
    player &operator=(const player &) = delete;
    ~player() { thence_am_free(&am); }

    static int answer(const thence_am_message *m, void *data) {
        player &self = *static_cast<player *>(data);
        --self.left;
        return self.rank == 1 || self.left > 0 ? thence_am_send(m->am, 1 - self.rank, 0, m->payload, m->bytes)
                                               : MPI_SUCCESS;
    }
    double block() {
        const double value = 1;
        left = round_trips;
        MPI_Barrier(MPI_COMM_WORLD);
        const measure::nanoseconds start = measure::now();
        if (rank == 0) {
            thence_am_send(am, 1, 0, &value, sizeof value);
        }
        while (left > 0) {
            thence_am_progress(am, nullptr);
        }
        return static_cast<double>(measure::now() - start) * 1e-9;
    }
};

double plain_block(int rank) {
    double value = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    const measure::nanoseconds start = measure::now();
    for (int i = 0; i < round_trips; ++i) {
        if (rank == 0) {
            MPI_Send(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        }
    }
    return static_cast<double>(measure::now() - start) * 1e-9;
}

void both(measure::work &work) {
    player mine(work.rank(), work.parameter("short") != 0 ? THENCE_AM_SHORT : 0U);
    measure::alternate(work, 2, work.quick() ? 50 : 400, 5,
                       [&](std::size_t contender) { return contender == 0 ? mine.block() : plain_block(work.rank()); });
}

void judge(measure::session &session) {
    for (const long is_short : {0L, 1L}) {
        std::vector<double> ratios;
        measure::numbers found;
        for (int i = session.quick() ? 1 : 3; i > 0; --i) {
            found = session.together(2, {.work = "both", .parameters = {{"short", is_short}}});
            ratios.push_back(found.at("seconds_0") / found.at("seconds_1"));
        }
        session.add({.name = is_short != 0 ? "short handlers" : "handlers that run in polls",
                     .found = measure::median_of(ratios),
                     .unit = "times half a round trip",
                     .kind = measure::bar_kind::at_most,
                     .bar = 1.2,
                     .against = "MPI_Send, MPI_Recv",
                     .side_unit = "microseconds",
                     .ours = found.at("seconds_0") / (2e-6 * round_trips),
                     .baseline = found.at("seconds_1") / (2e-6 * round_trips)});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "am_latency",
                          .about = "half a round trip of an active message of 8 B, compared with MPI_Send and MPI_Recv",
                          .bars = "at most 1.2 times",
                          .pieces = {{"both", both}},
                          .judge = judge});
}
