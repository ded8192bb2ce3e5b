// SPDX-License-Identifier: BSD-3-Clause
// The clocks of the system.
#pragma once

#include <cstdint>
#include <time.h>

namespace thence::base {

using nanoseconds = std::int64_t;

inline nanoseconds read_clock(clockid_t clock = CLOCK_MONOTONIC) noexcept {
    timespec time{};
    clock_gettime(clock, &time);
    return time.tv_sec * nanoseconds{1'000'000'000} + time.tv_nsec;
}

// Monotonic, precise to a few milliseconds, no system call.
inline std::uint32_t coarse_milliseconds() noexcept {
    return static_cast<std::uint32_t>(read_clock(CLOCK_MONOTONIC_COARSE) / 1'000'000);
}

} // namespace thence::base
