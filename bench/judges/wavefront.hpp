// SPDX-License-Identifier: BSD-3-Clause
// The figures of the benchmark wavefront: callbacks and coroutine against MPI_Recv and MPI_Send.
#pragma once

#include "measure/contest.hpp"
#include "measure/limit.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace measure::wavefront_runs {

// `mpi` is the baseline. `waitany` shows what plain MPI reaches in an order that follows the messages. `computation` is
// the limit: each rank computes as much, and sends nothing.
const std::vector<std::string> names{"mpi", "waitany", "computation", "callbacks", "coroutine"};
constexpr std::size_t mpi = 0, waitany = 1, computation = 2, callbacks = 3;

// `situation` is added to the names. `messages` of a run, one after the other. With `bars` false the figures have none.
inline std::vector<figure> figures_of(const contest &runs, const std::string &situation, double messages, bool bars) {
    std::vector<figure> all;
    const std::size_t best = runs.best(callbacks, names.size());
    for (std::size_t c = callbacks; c < names.size(); ++c) {
        figure found = runs.compared(c, mpi);
        found.name += situation + (c == best ? ", the better one" : "");
        found.kind = bars ? bar_kind::at_least : bar_kind::none;
        found.bar = c == best ? 1.0 : 0.95;
        found.against = "MPI_Recv, compute, MPI_Send";
        found.side_unit = "microseconds per message";
        found.ours = runs.seconds(c) / messages * 1e6;
        found.baseline = runs.seconds(mpi) / messages * 1e6;
        const double plain = runs.speed(waitany, mpi).value;
        add_peer(found, "plain MPI, MPI_Waitany", plain);
        add_limit(found, {.what = "the computation of a rank, without messages",
                          .value = runs.speed(computation, mpi).value,
                          .reached = std::max(1.0, plain)});
        all.push_back(std::move(found));
    }
    return all;
}

} // namespace measure::wavefront_runs
