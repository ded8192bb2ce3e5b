// SPDX-License-Identifier: BSD-3-Clause
// A thread of the operating system for each message, blocked in MPI_Recv. Needs MPI_THREAD_MULTIPLE.
#include "variants.hpp"

#include <thread>

namespace latency_mt {

void solve_threads(Run &run) {
    std::vector<std::thread> threads;
    threads.reserve(run.lanes.size());
    for (Lane &lane : run.lanes) {
        threads.emplace_back([&run, &lane] {
            ping_pong(
                lane, run.rounds,
                [&] { MPI_Send(lane.outgoing(), lane.bytes(), MPI_BYTE, run.peer, lane.tag(), run.comm); },
                [&] {
                    MPI_Recv(lane.incoming(), lane.bytes(), MPI_BYTE, run.peer, lane.tag(), run.comm,
                             MPI_STATUS_IGNORE);
                });
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

} // namespace latency_mt
