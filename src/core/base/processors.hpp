// SPDX-License-Identifier: BSD-3-Clause
// Whether there are as many processors as threads that are ready to run. A thread that polls cannot see it by itself:
// when it wakes from a sleep it runs at once, in place of a thread that computes, and that it has lost its processor
// for a millisecond may be the work of a device or of a hypervisor.
#pragma once

#include "core/base/clock.hpp"

namespace thence::base {

enum class processors {
    free,   // each thread that is ready has one
    taken,  // some thread waits for one
    unknown // this thread may not use all processors, or the system does not tell
};

// As it was less than a millisecond before `time`, which is now. Reads a file of the system at most once in a
// millisecond, which takes a few microseconds. Threads: any.
processors look_at_processors(nanoseconds time) noexcept;

// For tests: called in place of that, if it is not null.
extern processors (*scripted_processors)() noexcept;

} // namespace thence::base
