// SPDX-License-Identifier: BSD-3-Clause
// When the helper thread has made progress for plain operations of the program, for the timeline.
#pragma once

#include "core/base/clock.hpp"

#include <vector>

namespace thence::progress {

// The helper polled, or paused for a moment between two polls. Times are those of base::read_clock().
struct helped_interval {
    base::nanoseconds begun;
    base::nanoseconds ended;
};

// The helper has polled since `begun`. Called on the helper thread. If calls are not traced, it does nothing.
void log_help(base::nanoseconds begun) noexcept;

struct helper_log {
    int thread = 0; // the kernel's id of the helper thread; 0: it has logged nothing
    std::vector<helped_interval> intervals;
    std::size_t dropped = 0; // that are missing
};
// Any thread may call it.
helper_log read_helper_log();

} // namespace thence::progress
