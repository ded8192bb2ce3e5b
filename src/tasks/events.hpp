// SPDX-License-Identifier: BSD-3-Clause
// Counters of outstanding events (thence/events.h).
//
// Invariant: whoever changes `count_` to zero, and nobody else, calls the owner's function. An event is raised only
// while another one is outstanding that its raiser controls, so the counter stays at zero once it is there. The error
// is stored before the event that it came with is lowered, so it is there when the function is called.
#pragma once

#include <thence/events.h>

#include <cstdint>

namespace thence::task {

enum class raising { done, none_outstanding, overflow };
// Changes nothing unless it returns `done`.
raising raise(thence_events &events, std::uint64_t n) noexcept;
// False, and nothing has changed: fewer than `n` are outstanding.
bool lower(thence_events &events, std::uint64_t n, int error) noexcept;

} // namespace thence::task
