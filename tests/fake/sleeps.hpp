// SPDX-License-Identifier: BSD-3-Clause
// Counts sleeps, so that a test knows whether a waiting thread slept although it had found something.
#pragma once

#include <cstdint>

namespace thence::fake {

// The number of calls of nanosleep() on this thread. Programs that use this function get a nanosleep() that counts, and
// sleeps as the other one.
unsigned long sleeps_here() noexcept;

// If it is set, nanosleep() calls it with the nanoseconds, and sleeps only if it returns false (played_time.hpp).
extern bool (*sleep_in_place)(std::int64_t time);

} // namespace thence::fake
