// SPDX-License-Identifier: BSD-3-Clause
// The reference: one rank applies all functions to each block, without messages.
#include "run.hpp"

namespace streaming {

void solve_serial(Run &run) {
    for (int c = 0; c < run.chunks(); ++c) {
        for (int b = 0; b < run.blocks(); ++b) {
            run.compute(c, b);
        }
    }
}

} // namespace streaming
