// SPDX-License-Identifier: BSD-3-Clause
// A clock for patience: milliseconds, cheap to read, some milliseconds coarse.
#pragma once

#include <cstdint>
#include <time.h>

namespace thence::base {

struct coarse_clock {
    static std::uint32_t read() noexcept {
        timespec t{};
        clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
        return static_cast<std::uint32_t>(t.tv_sec * 1000 + t.tv_nsec / 1000000);
    }
};

} // namespace thence::base
