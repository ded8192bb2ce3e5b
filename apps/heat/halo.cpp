// SPDX-License-Identifier: BSD-3-Clause
// The tag contains only piece and direction. Messages of the same piece are sent and received in the order of
// iterations, and MPI does not let them overtake.
#include "halo.hpp"

#include <array>
#include <cassert>

namespace heat {

Flight Halo::describe(bool sent, Direction d, int iteration, int k, int col0, int col1) const {
    const int peer = sent == (d == Direction::down) ? run.rank + 1 : run.rank - 1;
    return {MPI_REQUEST_NULL,
            {now(), 0, iteration, k, peer, col1 - col0, run.recorder.lane().index, static_cast<std::uint8_t>(d), sent}};
}

Flight Halo::start(bool sent, Direction d, int iteration, int k, int col0, int col1, bool blocking) {
    if (sent ? !sends(d) : !receives(d)) {
        return {};
    }
    Flight f = describe(sent, d, iteration, k, col0, col1);
    const bool down = d == Direction::down;
    const int row = sent ? (down ? run.band.rows() - 1 : 0) : (down ? -1 : run.band.rows());
    double *piece = run.band.row(row) + col0;
    const int peer = f.message.peer, tag = 2 * k + (down ? 0 : 1);
    if (blocking && sent) {
        MPI_Send(piece, col1 - col0, MPI_DOUBLE, peer, tag, run.comm);
    } else if (blocking) {
        MPI_Recv(piece, col1 - col0, MPI_DOUBLE, peer, tag, run.comm, MPI_STATUS_IGNORE);
    } else if (sent) {
        MPI_Isend(piece, col1 - col0, MPI_DOUBLE, peer, tag, run.comm, &f.request);
    } else {
        MPI_Irecv(piece, col1 - col0, MPI_DOUBLE, peer, tag, run.comm, &f.request);
    }
    if (!blocking) { // a blocked task is no activity of its thread, which may run others meanwhile
        run.recorder.add(Activity::start, f.message.started, now(), iteration, -1, k);
    }
    return f;
}

void Halo::wait(std::span<Flight *const> flights) {
    std::array<MPI_Request, 4> requests;
    std::array<Flight *, 4> owners;
    std::size_t count = 0;
    for (Flight *f : flights) {
        if (f->request == MPI_REQUEST_NULL) {
            continue;
        }
        assert(count < requests.size());
        requests[count] = f->request;
        owners[count++] = f;
    }
    if (count == 0) {
        return;
    }
    {
        const Timed timed(run.recorder, Activity::wait);
        MPI_Waitall(static_cast<int>(count), requests.data(), MPI_STATUSES_IGNORE);
    }
    for (std::size_t i = 0; i < count; ++i) {
        complete(*owners[i]);
        owners[i]->request = MPI_REQUEST_NULL;
    }
}

} // namespace heat
