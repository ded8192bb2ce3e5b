// SPDX-License-Identifier: BSD-3-Clause
#include "measure/python.hpp"

#include "measure/process.hpp"

#include <stdexcept>

namespace measure {

std::string python_with_matplotlib() {
    for (const char *python : {"python3", "/usr/bin/python3"}) {
        try {
            if (run_program({python, "-c", "import matplotlib"}, {}, std::chrono::seconds(120)).exit_code == 0) {
                return python;
            }
        } catch (const std::runtime_error &) { // not installed: try the next one
        }
    }
    return {};
}

} // namespace measure
