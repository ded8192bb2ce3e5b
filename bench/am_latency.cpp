// SPDX-License-Identifier: BSD-3-Clause
// Half a round trip of an active message of 8 bytes, from handler to handler. Compared with MPI_Send and MPI_Recv, in
// alternate blocks. The limit is MPI_Send and MPI_Recv of as many bytes as a packet with one such message has, and a
// call of a function for each.
#include "judges/am_latency.hpp"
#include "measure/alternate.hpp"
#include "measure/benchmark.hpp"
#include "measure/clock.hpp"

#include <thence/am.h>

#include <cstdint>

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

struct nothing {
    void operator()() const {}
};

// `arrived` is called for each message.
template <class Message, class Arrived = nothing> double plain_block(int rank, Arrived arrived = {}) {
    Message message{};
    constexpr int bytes = sizeof message;
    MPI_Barrier(MPI_COMM_WORLD);
    const measure::nanoseconds start = measure::now();
    for (int i = 0; i < round_trips; ++i) {
        if (rank == 0) {
            MPI_Send(&message, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&message, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            arrived();
        } else {
            MPI_Recv(&message, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            arrived();
            MPI_Send(&message, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
    return static_cast<double>(measure::now() - start) * 1e-9;
}

// A packet with one message has credits, the number of the handler and the length before the payload.
struct packet {
    std::uint64_t credits, number_and_length;
    double payload;
};

void (*volatile handler)(long &) = [](long &handled) { ++handled; };

double limit_block(int rank) {
    long handled = 0;
    return plain_block<packet>(rank, [&handled] { handler(handled); });
}

void both(measure::work &work) {
    player mine(work.rank(), work.parameter("short") != 0 ? THENCE_AM_SHORT : 0U);
    measure::alternate(work, 3, work.quick() ? 50 : 400, 5, [&](std::size_t contender) {
        return contender == 0   ? mine.block()
               : contender == 1 ? plain_block<double>(work.rank())
                                : limit_block(work.rank());
    });
}

void judge(measure::session &session) {
    for (const long is_short : {0L, 1L}) {
        std::vector<measure::numbers> launches;
        for (int i = session.quick() ? 1 : 3; i > 0; --i) {
            launches.push_back(session.together(2, {.work = "both", .parameters = {{"short", is_short}}}));
        }
        session.add(measure::am_latency_runs::figure_of(
            launches, round_trips, is_short != 0 ? "short handlers" : "handlers that run in polls"));
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
