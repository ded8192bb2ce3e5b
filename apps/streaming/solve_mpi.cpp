// SPDX-License-Identifier: BSD-3-Clause
// MPI only: receives of a whole chunk are posted ahead. Every operation is started as soon as its buffer is free and
// waited for when its buffer is needed, so messages and computation overlap.
#include "link.hpp"

#include <vector>

namespace streaming {

void solve_mpi(Run &run) {
    Link link(run);
    std::vector<Flight> received(static_cast<std::size_t>(run.blocks())), sent(received.size());
    const auto at = [](std::vector<Flight> &flights, int b) -> Flight & {
        return flights[static_cast<std::size_t>(b)];
    };
    for (int b = 0; b < run.blocks(); ++b) {
        at(received, b) = link.receive(0, b);
    }
    for (int c = 0; c < run.chunks(); ++c) {
        for (int b = 0; b < run.blocks(); ++b) {
            Flight *const needed[] = {&at(received, b), &at(sent, b)};
            link.wait(needed);
            run.compute(c, b);
            at(sent, b) = link.send(c, b);
            if (c + 1 < run.chunks()) {
                at(received, b) = link.receive(c + 1, b);
            }
        }
    }
    for (Flight &flight : sent) {
        Flight *const last[] = {&flight};
        link.wait(last);
    }
}

} // namespace streaming
