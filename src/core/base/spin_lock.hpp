// SPDX-License-Identifier: BSD-3-Clause
// The spin lock of Thence and what a loop does while it waits for another thread: those of the public headers.
#pragma once

#include <thence/detail/atomic.hpp>

namespace thence::base {

using detail::spin_lock;
using detail::spin_wait;

inline void cpu_relax() noexcept {
    detail::spin_pause();
}

} // namespace thence::base
