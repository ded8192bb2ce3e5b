// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace command {

struct info_options {
    bool json = false;
    std::string level = "multiple";
};

// Starts MPI in this process, asks the library what it runs on, and prints it. Returns the exit status.
int info(const info_options &chosen);

} // namespace command
