// SPDX-License-Identifier: BSD-3-Clause
// Wakes sleeping tasks. One thread of the process sleeps until the earliest of them is due; it is made for the first one.
#pragma once

#include "dataflow/workers.hpp"

#include <chrono>

namespace thence::dataflow {

using timer_clock = std::chrono::steady_clock;

// Makes room for one resume_at(), and the thread. Throws std::bad_alloc or std::system_error.
void prepare_timer();
// Resumes the stack at that time.
void resume_at(timer_clock::time_point when, suspended &stack) noexcept;

} // namespace thence::dataflow
