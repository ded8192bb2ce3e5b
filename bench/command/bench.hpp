// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace command {

struct bench_options {
    std::vector<std::string> names;
    bool all = false;
    bool list = false;
    bool quick = false;
    std::string json; // file to write, empty for none
    std::string plot; // folder to draw into, empty for none
    std::string mpiexec = THENCE_BENCH_MPIEXEC;
};

// Returns the exit status. 0: every bar is met. 1: a bar is missed. 2: wrong usage. 3: something could not be measured
// or written.
int bench(const bench_options &chosen);

} // namespace command
