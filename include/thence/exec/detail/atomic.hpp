// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The atomic words and locks of thence/detail, under the names that thence::exec uses.

#include <thence/detail/atomic.hpp>

namespace thence::exec::detail {

using thence::detail::atomic;
using thence::detail::locked;
using thence::detail::order;
using thence::detail::spin_lock;
using thence::detail::spin_wait;

} // namespace thence::exec::detail
