// SPDX-License-Identifier: BSD-3-Clause
// Whether a call comes to libthence, from wherever its name leads: it is made once, and says so on its slow path.
#pragma once

#include "core/base/visibility.hpp"

namespace thence::interpose {

// Calls `make(function)`, which makes a call that blocks or tests. True if that came to us.
THENCE_INTERNAL bool comes_to_us(void (*make)(void *function), void *function) noexcept;

// Such calls say so.
THENCE_INTERNAL void has_come() noexcept;

} // namespace thence::interpose
