// SPDX-License-Identifier: BSD-3-Clause
// Coarse monotonic clock: milliseconds, precise to a few of them, no system call.
#pragma once

#include <cstdint>
#include <time.h>

namespace thence::base {

inline std::uint32_t coarse_milliseconds() noexcept {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return static_cast<std::uint32_t>(t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

} // namespace thence::base
