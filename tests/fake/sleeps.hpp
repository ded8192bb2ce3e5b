// SPDX-License-Identifier: BSD-3-Clause
// Counts sleeps, so that a test can tell whether a waiting thread took what it found for nothing.
#pragma once

namespace thence::fake {

// Calls of nanosleep() on this thread so far. Programs that use it get a nanosleep() of ours, which sleeps as
// the other one does.
unsigned long sleeps_here() noexcept;

} // namespace thence::fake
