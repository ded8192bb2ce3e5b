// SPDX-License-Identifier: BSD-3-Clause
// Wakes sleeping tasks. One thread of the process, started for the first of them, sleeps until the earliest is due.
#pragma once

#include "core/base/clock.hpp"
#include "tbb/workers/arena.hpp"

#include <algorithm>
#include <cstdint>

namespace thence::dataflow {

// Limited so that adding it to the current time does not overflow.
inline base::nanoseconds clamped(std::uint64_t nanoseconds) noexcept {
    return static_cast<base::nanoseconds>(std::min(nanoseconds, std::uint64_t{1} << 61));
}

// Makes room for one resume_at(), and the thread. Throws std::bad_alloc or std::system_error.
void prepare_timer();
// Resumes the stack at that time of base::read_clock().
void resume_at(base::nanoseconds when, workers::suspended &stack) noexcept;
// Calls `wake(data)` after that time, on the thread that wakes tasks. @return false if there is no memory, or no
// thread.
bool call_after(std::uint64_t nanoseconds, void (*wake)(void *data) noexcept, void *data) noexcept;

} // namespace thence::dataflow
