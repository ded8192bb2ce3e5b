// SPDX-License-Identifier: BSD-3-Clause
// Counters of outstanding events (thence/events.h).
//
// Invariant: whoever changes `count_` to zero, and nobody else, calls the owner's function. An event is raised only while
// another one is outstanding that its raiser controls, so the counter stays at zero once it is there. The error is
// stored before the event that it came with is lowered, so it is there when the function is called.
#pragma once

#include <thence/events.h>

#include <cstdint>

namespace thence::task {

// Each returns false, and has changed nothing, if the counter does not allow it: nothing is outstanding or it would
// overflow; fewer than `n` are outstanding.
bool raise(thence_events &events, std::uint64_t n) noexcept;
bool lower(thence_events &events, std::uint64_t n, int error) noexcept;

} // namespace thence::task
