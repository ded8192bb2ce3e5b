// SPDX-License-Identifier: BSD-3-Clause
// One coroutine for each grid, written like the plain program. While one waits for its message, the others go on.
#include "variants.hpp"

#include "common/all_of.hpp"

#include <thence/mpi.hpp>

namespace wavefront {
namespace {

namespace ex = thence::ex;
using scheduler = thence::progress_loop::scheduler; // of the loop in which sync_wait() waits

ex::task<> follow(const thence::communicator &comm, Run &run, Pipeline &grid, scheduler loop) {
    while (!grid.done()) {
        const int step = grid.step();
        if (const auto m = grid.needed(step); m.count > 0) {
            co_await comm.recv(std::span(grid.incoming(step), static_cast<std::size_t>(m.count)), m.peer, m.tag);
        } else if (run.grids.size() > 1) { // let the other grids go on
            co_await ex::schedule(loop);
        }
        run.compute(grid);
        if (const auto m = grid.made(step); m.count > 0) {
            co_await comm.send(std::span(grid.outgoing(step), static_cast<std::size_t>(m.count)), m.peer, m.tag);
        }
    }
}

} // namespace

void solve_coroutine(Run &run) {
    const auto comm = thence::communicator::view(run.comm);
    thence::sync_wait(ex::read_env(ex::get_scheduler) | ex::let_value([&](scheduler &loop) {
                          return apps::all_of(run.grids.size(),
                                              [&](std::size_t g) { return follow(comm, run, *run.grids[g], loop); });
                      }));
}

} // namespace wavefront
