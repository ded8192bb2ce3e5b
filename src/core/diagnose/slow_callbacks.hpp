// SPDX-License-Identifier: BSD-3-Clause
// Reports callbacks that ran for longer than THENCE_SLOW_CONTINUATION. While a callback runs, its thread runs no other
// continuation and makes no progress. Each pair of callback and attaching call is reported once, and again each time
// its duration is at least twice the longest that was reported.
#pragma once

#include "core/continuation/continuation.hpp"

#include <chrono>
#include <cstdint>

namespace thence::diagnose {

// Zero switches the reports off. Must be called before any callback is observed.
void set_slow_callback_limit(std::chrono::milliseconds limit) noexcept;
bool slow_callbacks_reported() noexcept;
int slow_callback_limit_ms() noexcept;

// Called after a callback that ran from `started` to `ended` (nanoseconds). `where`: the code address that attached it.
void report_if_slow(const void *where, continuation::any_function callback, std::uint64_t started, std::uint64_t ended);

} // namespace thence::diagnose
