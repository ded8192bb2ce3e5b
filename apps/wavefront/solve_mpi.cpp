// SPDX-License-Identifier: BSD-3-Clause
// Plain MPI. `mpi` is the original: MPI_Recv, compute, MPI_Send, one grid after the other in each iteration. `waitany`
// is what one writes by hand for several grids: a pending receive for each, and MPI_Waitany. It sends with MPI_Isend,
// since two ranks that send grids in opposite directions with MPI_Send may wait for each other.
#include "variants.hpp"

#include <utility>

namespace wavefront {
namespace {

void send(Run &run, Pipeline &grid, int step) {
    if (const auto m = grid.made(step); m.count > 0) {
        MPI_Send(grid.outgoing(step), m.count, MPI_DOUBLE, m.peer, m.tag, run.comm);
    }
}

} // namespace

void solve_mpi(Run &run) {
    const int blocks = run.grids[0]->steps_per_iteration(), steps = run.grids[0]->steps();
    for (int first = 0; first < steps; first += blocks) {
        for (const auto &grid : run.grids) {
            for (int step = first; step < first + blocks; ++step) {
                if (const auto m = grid->needed(step); m.count > 0) {
                    MPI_Recv(grid->incoming(step), m.count, MPI_DOUBLE, m.peer, m.tag, run.comm, MPI_STATUS_IGNORE);
                }
                run.compute(*grid);
                send(run, *grid, step);
            }
        }
    }
}

void solve_waitany(Run &run) {
    const int count = static_cast<int>(run.grids.size());
    // Of grid g: [g] is the receive that its next step needs, and [count + g] the send whose buffer that step
    // overwrites.
    std::vector<MPI_Request> awaited(2 * run.grids.size(), MPI_REQUEST_NULL);
    std::vector<MPI_Request> last_send(run.grids.size(), MPI_REQUEST_NULL);
    std::vector<MPI_Request> left; // sends of grids that are done
    std::vector<int> may_go;       // grids whose next step waits for nothing
    const auto receive = [&](int g) -> MPI_Request & { return awaited[static_cast<std::size_t>(g)]; };
    const auto send = [&](int g) -> MPI_Request & { return awaited[static_cast<std::size_t>(count + g)]; };
    const auto waits = [&](int g) { return receive(g) != MPI_REQUEST_NULL || send(g) != MPI_REQUEST_NULL; };
    const auto begin_next = [&](int g) {
        Pipeline &grid = *run.grids[static_cast<std::size_t>(g)];
        if (grid.done()) {
            left.push_back(std::exchange(send(g), MPI_REQUEST_NULL));
            left.push_back(std::exchange(last_send[static_cast<std::size_t>(g)], MPI_REQUEST_NULL));
            return;
        }
        if (const auto m = grid.needed(grid.step()); m.count > 0) {
            MPI_Irecv(grid.incoming(grid.step()), m.count, MPI_DOUBLE, m.peer, m.tag, run.comm, &receive(g));
        }
        if (!waits(g)) {
            may_go.push_back(g);
        }
    };
    for (int g = 0; g < count; ++g) {
        begin_next(g);
    }
    for (;;) {
        int which = MPI_UNDEFINED, found = 1;
        if (may_go.empty()) {
            MPI_Waitany(2 * count, awaited.data(), &which, MPI_STATUS_IGNORE);
            if (which == MPI_UNDEFINED) {
                break;
            }
        } else { // a grid whose message has arrived goes first: another rank waits for what it makes
            MPI_Testany(2 * count, awaited.data(), &which, &found, MPI_STATUS_IGNORE);
        }
        int g = which % count;
        if (found == 0 || which == MPI_UNDEFINED) {
            g = may_go.front();
            may_go.erase(may_go.begin());
        } else if (waits(g)) {
            continue; // for the other of its two requests
        }
        Pipeline &grid = *run.grids[static_cast<std::size_t>(g)];
        const int step = grid.step();
        run.compute(grid);
        MPI_Request sent = MPI_REQUEST_NULL;
        if (const auto m = grid.made(step); m.count > 0) {
            int complete = 0;
            MPI_Isend(grid.outgoing(step), m.count, MPI_DOUBLE, m.peer, m.tag, run.comm, &sent);
            MPI_Test(&sent, &complete, MPI_STATUS_IGNORE);
        }
        send(g) = std::exchange(last_send[static_cast<std::size_t>(g)], sent);
        begin_next(g);
    }
    MPI_Waitall(static_cast<int>(left.size()), left.data(), MPI_STATUSES_IGNORE);
}

} // namespace wavefront
