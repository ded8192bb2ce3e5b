// SPDX-License-Identifier: BSD-3-Clause
// The watching thread of THENCE_STALL: reports when nothing has completed for a while although something is
// outstanding, again after twice, four times ... that while, and once more when things go on. It makes no MPI call and
// exists only while the setting is on.
#pragma once

#include <chrono>

namespace thence::diagnose {

void start_watching(std::chrono::milliseconds patience);
void stop_watching() noexcept; // returns after a report that is being written

} // namespace thence::diagnose
