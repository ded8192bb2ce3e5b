// SPDX-License-Identifier: BSD-3-Clause
// One coroutine for each plate, written like the plain program. While one waits for its messages, the others go on.
#include "variants.hpp"

#include <thence/mpi.hpp>

namespace plates {
namespace {

namespace ex = thence::ex;
using scheduler = thence::progress_loop::scheduler; // of the loop in which sync_wait() waits

ex::task<> receive(const thence::communicator &comm, Plate::Piece piece) {
    if (piece.count > 0)
        co_await comm.recv(std::span(piece.data, static_cast<std::size_t>(piece.count)), piece.peer, piece.tag);
}

ex::task<> send(const thence::communicator &comm, Plate::Piece piece) {
    if (piece.count > 0)
        co_await comm.send(std::span(piece.data, static_cast<std::size_t>(piece.count)), piece.peer, piece.tag);
}

ex::task<> follow(const thence::communicator &comm, Run &run, Plate &plate, scheduler loop) {
    while (!plate.done()) {
        const int step = plate.step();
        co_await ex::schedule(loop); // let the other plates go on
        co_await ex::when_all(receive(comm, plate.needed(step, Plate::above)),
                              receive(comm, plate.needed(step, Plate::below)));
        run.compute(plate);
        co_await ex::when_all(send(comm, plate.made(step, Plate::above)), send(comm, plate.made(step, Plate::below)));
    }
}

// All plates from `first` on, `count` of them, at the same time.
ex::task<> follow_all(const thence::communicator &comm, Run &run, scheduler loop, std::size_t first,
                      std::size_t count) {
    if (count == 1)
        co_await follow(comm, run, *run.plates[first], loop);
    else
        co_await ex::when_all(follow_all(comm, run, loop, first, count / 2),
                              follow_all(comm, run, loop, first + count / 2, count - count / 2));
}

} // namespace

void solve_coroutine(Run &run) {
    const auto comm = thence::communicator::view(run.comm);
    thence::sync_wait(ex::read_env(ex::get_scheduler) | ex::let_value([&](scheduler &loop) {
                          return follow_all(comm, run, loop, 0, run.plates.size());
                      }));
}

} // namespace plates
