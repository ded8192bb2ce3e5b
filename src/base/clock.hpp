// SPDX-License-Identifier: BSD-3-Clause
// A clock that costs one load: milliseconds as of the last tick(), which whoever polls now and then gives.
#pragma once

#include <atomic>
#include <cstdint>
#include <time.h>

namespace thence::base {

class coarse_clock {
public:
    static std::uint32_t now() noexcept { return now_.load(std::memory_order_relaxed); }
    static void tick() noexcept { now_.store(read(), std::memory_order_relaxed); }
    static std::uint32_t read() noexcept {
        timespec t{};
        clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
        return static_cast<std::uint32_t>(t.tv_sec * 1000 + t.tv_nsec / 1000000);
    }

private:
    static inline std::atomic<std::uint32_t> now_{0};
};

} // namespace thence::base
