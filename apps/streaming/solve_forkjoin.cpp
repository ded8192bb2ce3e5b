// SPDX-License-Identifier: BSD-3-Clause
// Fork-join: the threads of a rank share the blocks of one chunk. Before and after, one thread receives and sends all
// blocks of the chunk while the others are idle.
#include "link.hpp"

#include <vector>

namespace streaming {

void solve_forkjoin(Run &run) {
    Link link(run);
    const int blocks = run.blocks();
    std::vector<Flight> received(static_cast<std::size_t>(blocks)), sent(received.size());
    std::vector<Flight *> all;
    for (std::size_t b = 0; b < received.size(); ++b) {
        all.push_back(&received[b]);
        all.push_back(&sent[b]);
        received[b] = link.receive(0, static_cast<int>(b));
    }
    for (int c = 0; c < run.chunks(); ++c) {
        link.wait(all);
#pragma omp parallel for num_threads(run.threads) schedule(static)
        for (int b = 0; b < blocks; ++b) {
            run.compute(c, b);
        }
        for (int b = 0; b < blocks; ++b) {
            sent[static_cast<std::size_t>(b)] = link.send(c, b);
            if (c + 1 < run.chunks()) {
                received[static_cast<std::size_t>(b)] = link.receive(c + 1, b);
            }
        }
    }
    link.wait(all);
}

} // namespace streaming
