// SPDX-License-Identifier: BSD-3-Clause
// Whether there are fewer processors than threads that are ready to run. A thread that polls and sleeps cannot see it
// by itself: when it wakes it runs at once, in place of a thread that computes.
#pragma once

#include "core/base/clock.hpp"

namespace thence::base {

// As it was less than a millisecond before `time`, which is now. Reads a file of the system at most once in a
// millisecond, which takes a few microseconds. False where the system does not tell. Threads: any.
bool processors_are_taken(nanoseconds time) noexcept;

// Whether this thread has lately been ready without a processor, for more than a moment. A thread that comes back late
// from a sleep may as well have waited for the processor itself to wake, which on virtual machines takes a millisecond
// now and then. `time`: now. True where the system does not tell. "Lately" is since the last call of one of these two
// on this thread. The second is to be called often: it reads a file of the system every 20 ms.
bool has_waited_for_processor(nanoseconds time) noexcept;
void look_at_waits_for_processor(nanoseconds time) noexcept;

// For tests: called in place of these, if they are not null.
extern bool (*scripted_processors)() noexcept;
extern bool (*scripted_wait_for_processor)() noexcept;

} // namespace thence::base
