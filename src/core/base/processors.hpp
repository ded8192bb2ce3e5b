// SPDX-License-Identifier: BSD-3-Clause
// Whether there are fewer processors than threads that are ready to run. A thread that polls and sleeps cannot see it
// by itself: when it wakes it runs at once, in place of a thread that computes.
#pragma once

#include "core/base/clock.hpp"

namespace thence::base {

// As it was less than a millisecond before `time`, which is now. Reads a file of the system at most once in a
// millisecond, which takes a few microseconds. False where the system does not tell. Threads: any.
bool processors_are_taken(nanoseconds time) noexcept;

// For tests: called in place of that, if it is not null.
extern bool (*scripted_processors)() noexcept;

} // namespace thence::base
