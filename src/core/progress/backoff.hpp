// SPDX-License-Identifier: BSD-3-Clause
// The pauses of loops that poll, see <thence/backoff.h>. The longer a thread has waited, the longer it pauses, so that
// a completion is found at most an eighth later than without pauses, and threads that compute get the processor. Loops
// that pause otherwise, such as the helper thread (helper_pauses.hpp), are listed in docs/guide/explicit-progress.md.
// No loop yields its processor: beside a thread that computes, that costs a time slice of the other. The exception are
// blocking calls under THENCE_WAIT, which the user has chosen for more ranks than processors: there mostly another rank
// is next, and after a yield that cost a time slice they yield no more for a while (interpose/waiting/unchanged.cpp).
#pragma once

#include "core/base/processors.hpp"

#include <thence/backoff.h>

#include <cstdint>

namespace thence::progress {

// As the functions of <thence/backoff.h>. pause() returns whether it slept.
// `waits`: if not null, a thread that comes back late has seen another thread only if it waited for its processor.
std::int64_t next_pause(thence_backoff &backoff, base::waits_for_processor *waits = nullptr) noexcept;
bool pause(thence_backoff &backoff) noexcept;
void found_after_pauses(thence_backoff &backoff) noexcept;
// For a caller that chooses the length of its sleeps. @return the length of the sleep that begins at `time`: `wanted`,
// but not shorter than next_pause() would give while other threads want this processor, and at most `longest`.
std::int64_t sleep_from(thence_backoff &backoff, std::int64_t time, std::int64_t wanted, std::int64_t longest) noexcept;

// Whether no other thread has wanted this processor for some time. `time`: now.
bool is_alone(const thence_backoff &backoff, std::int64_t time) noexcept;

// The state of a loop that begins. `longest`: the longest sleep in nanoseconds.
constexpr thence_backoff backoff_with(std::int64_t longest, std::uint32_t spins) noexcept {
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    backoff.longest = longest;
    backoff.spins = spins;
    return backoff;
}
// The same for a wait that mostly is short: for memory that another thread or process writes, or for its answer.
constexpr thence_backoff backoff_of_short_wait() noexcept {
    return backoff_with(20'000, 256);
}

inline void found(thence_backoff &backoff) noexcept {
    if (backoff.misses != 0 || backoff.usual != 0) {
        found_after_pauses(backoff);
    }
}

} // namespace thence::progress
