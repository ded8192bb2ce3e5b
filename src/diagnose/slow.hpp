// SPDX-License-Identifier: BSD-3-Clause
// Tells of callbacks that ran for longer than THENCE_SLOW_CONTINUATION: while one runs, no other continuation does on
// its thread, and a thread that polls does not poll. Once per place, and again when it took twice as long.
#pragma once

#include "continuation/continuation.hpp"

#include <chrono>
#include <cstdint>

namespace thence::diagnose {

// Zero: off. Before anything is observed.
void tell_of_callbacks_longer_than(std::chrono::milliseconds limit) noexcept;
bool times_callbacks() noexcept;
int slow_ms() noexcept;

// After a callback that ran from `started` to `ended` (nanoseconds).
void note_callback(const void *where, continuation::any_function callback, std::uint64_t started, std::uint64_t ended);

} // namespace thence::diagnose
