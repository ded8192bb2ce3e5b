// SPDX-License-Identifier: BSD-3-Clause
// Plain MPI. `mpi` is the original: MPI_Recv, compute, MPI_Send, one grid after the other
// in each iteration. `waitany` is what one writes by hand
// for several grids: a pending receive for each, and MPI_Waitany.
#include "variants.hpp"

namespace wavefront {
namespace {

void send(Run &run, Pipeline &grid, int step) {
    if (const auto m = grid.made(step); m.count > 0)
        MPI_Send(grid.outgoing(step), m.count, MPI_DOUBLE, m.peer, m.tag, run.comm);
}

} // namespace

void solve_mpi(Run &run) {
    const int blocks = run.grids[0]->steps_per_iteration(), steps = run.grids[0]->steps();
    for (int first = 0; first < steps; first += blocks)
        for (const auto &grid : run.grids)
            for (int step = first; step < first + blocks; ++step) {
                if (const auto m = grid->needed(step); m.count > 0)
                    MPI_Recv(grid->incoming(step), m.count, MPI_DOUBLE, m.peer, m.tag, run.comm, MPI_STATUS_IGNORE);
                run.compute(*grid);
                send(run, *grid, step);
            }
}

void solve_waitany(Run &run) {
    const int count = static_cast<int>(run.grids.size());
    std::vector<MPI_Request> receives(run.grids.size(), MPI_REQUEST_NULL);
    std::vector<int> may_go; // grids whose next step needs no message
    const auto begin_next = [&](int g) {
        Pipeline &grid = *run.grids[static_cast<std::size_t>(g)];
        if (grid.done())
            return;
        if (const auto m = grid.needed(grid.step()); m.count > 0)
            MPI_Irecv(grid.incoming(grid.step()), m.count, MPI_DOUBLE, m.peer, m.tag, run.comm,
                      &receives[static_cast<std::size_t>(g)]);
        else
            may_go.push_back(g);
    };
    for (int g = 0; g < count; ++g)
        begin_next(g);
    for (;;) {
        int g = MPI_UNDEFINED;
        if (may_go.empty()) {
            MPI_Waitany(count, receives.data(), &g, MPI_STATUS_IGNORE);
            if (g == MPI_UNDEFINED)
                return;
        } else {
            // A grid whose message has arrived goes first: another rank waits for what it makes.
            int arrived = 0;
            MPI_Testany(count, receives.data(), &g, &arrived, MPI_STATUS_IGNORE);
            if (arrived == 0 || g == MPI_UNDEFINED) {
                g = may_go.front();
                may_go.erase(may_go.begin());
            }
        }
        Pipeline &grid = *run.grids[static_cast<std::size_t>(g)];
        const int step = grid.step();
        run.compute(grid);
        send(run, grid, step);
        begin_next(g);
    }
}

} // namespace wavefront
