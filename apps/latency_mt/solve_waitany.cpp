// SPDX-License-Identifier: BSD-3-Clause
// One thread, neither fibers nor Thence: a pending receive for each message, and MPI_Waitany. What the other variants
// write as a loop with two calls that block is a list of states by hand here: which round a lane is in, and what it
// does next.
#include "variants.hpp"

namespace latency_mt {

void solve_waitany(Run &run) {
    const std::size_t count = run.lanes.size();
    const int rounds = run.rounds.warm_up + run.rounds.timed;
    std::vector<MPI_Request> receives(count, MPI_REQUEST_NULL), sends(count, MPI_REQUEST_NULL);
    std::vector<int> round_of(count, 0);
    const auto send = [&](std::size_t l) {
        Lane &lane = run.lanes[l];
        // The peer has answered the last message of this lane, so this does not wait for the peer.
        MPI_Wait(&sends[l], MPI_STATUS_IGNORE);
        lane.write(round_of[l], run.rounds.whole);
        MPI_Isend(lane.outgoing(), lane.bytes(), MPI_BYTE, run.peer, lane.tag(), run.comm, &sends[l]);
    };
    const auto begin_round = [&](std::size_t l) {
        Lane &lane = run.lanes[l];
        if (round_of[l] == run.rounds.warm_up) {
            lane.begin = apps::now();
        }
        MPI_Irecv(lane.incoming(), lane.bytes(), MPI_BYTE, run.peer, lane.tag(), run.comm, &receives[l]);
        if (lane.begins()) {
            send(l);
        }
    };
    for (std::size_t l = 0; l < count; ++l) {
        begin_round(l);
    }
    for (std::size_t left = count; left > 0;) {
        int which = 0;
        MPI_Waitany(static_cast<int>(count), receives.data(), &which, MPI_STATUS_IGNORE);
        const auto l = static_cast<std::size_t>(which);
        Lane &lane = run.lanes[l];
        lane.arrived(round_of[l], run.rounds.whole);
        if (!lane.begins()) {
            send(l);
        }
        if (++round_of[l] < rounds) {
            begin_round(l);
        } else {
            lane.end = apps::now();
            --left;
        }
    }
    MPI_Waitall(static_cast<int>(count), sends.data(), MPI_STATUSES_IGNORE);
}

} // namespace latency_mt
