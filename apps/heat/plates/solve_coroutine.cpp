// SPDX-License-Identifier: BSD-3-Clause
// One coroutine for each plate, written like the plain program. While one waits for its messages, the others go on.
#include "variants.hpp"

#include "common/all_of.hpp"

#include <array>
#include <thence/mpi.hpp>
#include <thence/transform_mpi.hpp>
#include <utility>

namespace plates {
namespace {

namespace ex = thence::ex;
using scheduler = thence::progress_loop::scheduler; // of the loop in which sync_wait() waits

ex::task<> receive(const thence::communicator &comm, Run &run, Plate::Piece piece) {
    run.started(piece, false);
    if (piece.count > 0) {
        co_await comm.recv(std::span(piece.data, static_cast<std::size_t>(piece.count)), piece.peer, piece.tag);
    }
}

// Waits for a send that has begun.
ex::task<> complete(MPI_Request &begun) {
    if (begun != MPI_REQUEST_NULL) {
        co_await (ex::just() | thence::transform_mpi([&begun](MPI_Request *request) {
                      *request = std::exchange(begun, MPI_REQUEST_NULL);
                      return MPI_SUCCESS;
                  }));
    }
}

// A piece is sent while later ones are computed. To wait for it at once could end in a deadlock: the rank above
// receives it in its next iteration, and may need other pieces of this rank before that.
ex::task<> follow(const thence::communicator &comm, Run &run, Plate &plate, scheduler loop) {
    std::vector<std::array<MPI_Request, 2>> sends(static_cast<std::size_t>(plate.pieces()),
                                                  {MPI_REQUEST_NULL, MPI_REQUEST_NULL});
    while (!plate.done()) {
        const int step = plate.step();
        auto &[above, below] = sends[static_cast<std::size_t>(step % plate.pieces())];
        co_await ex::schedule(loop); // let the other plates go on
        co_await ex::when_all(receive(comm, run, plate.needed(step, Plate::above)),
                              receive(comm, run, plate.needed(step, Plate::below)), complete(above), complete(below));
        run.compute(plate);
        above = run.send(plate.made(step, Plate::above));
        below = run.send(plate.made(step, Plate::below));
    }
    for (auto &[above, below] : sends) {
        co_await ex::when_all(complete(above), complete(below));
    }
}

} // namespace

void solve_coroutine(Run &run) {
    const auto comm = thence::communicator::view(run.comm);
    thence::sync_wait(ex::read_env(ex::get_scheduler) | ex::let_value([&](scheduler &loop) {
                          return apps::all_of(run.plates.size(),
                                              [&](std::size_t p) { return follow(comm, run, *run.plates[p], loop); });
                      }));
}

} // namespace plates
