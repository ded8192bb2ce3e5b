// SPDX-License-Identifier: BSD-3-Clause
// The clocks of the system in nanoseconds.
#pragma once

#include <cstdint>
#include <time.h>

namespace thence::progress {

using nanoseconds = std::int64_t;

inline nanoseconds read_clock(clockid_t clock) noexcept {
    timespec time{};
    clock_gettime(clock, &time);
    return time.tv_sec * nanoseconds{1'000'000'000} + time.tv_nsec;
}

} // namespace thence::progress
