// SPDX-License-Identifier: BSD-3-Clause
// The pauses of all loops that poll, see <thence/backoff.h>. The longer a thread has waited, the longer it pauses, so that
// a completion is found at most an eighth later than without pauses, and threads that compute get the processor.
#pragma once

#include <thence/backoff.h>

#include <cstdint>

namespace thence::progress {

// As the functions of <thence/backoff.h>. pause() returns whether it slept.
std::int64_t next_pause(thence_backoff &backoff) noexcept;
bool pause(thence_backoff &backoff) noexcept;
void found_after_pauses(thence_backoff &backoff) noexcept;

// The state of a loop that begins. `longest`: the longest sleep in nanoseconds.
constexpr thence_backoff backoff_with(std::int64_t longest, std::uint32_t spins) noexcept {
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    backoff.longest = longest;
    backoff.spins = spins;
    return backoff;
}

inline void found(thence_backoff &backoff) noexcept {
    if (backoff.misses != 0 || backoff.usual != 0) {
        found_after_pauses(backoff);
    }
}

} // namespace thence::progress
