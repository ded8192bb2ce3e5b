// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_EXEC_DETAIL_ATOMIC_HPP
#define THENCE_EXEC_DETAIL_ATOMIC_HPP
#if __cplusplus < 202002L
#error "thence/exec/detail/atomic.hpp needs C++20: compile with -std=c++20"
#else

// The atomic words and locks of thence/detail, under the names that thence::exec uses.

#include <thence/detail/atomic.hpp>

namespace thence::exec::detail {

using thence::detail::atomic;
using thence::detail::locked;
using thence::detail::order;
using thence::detail::spin_lock;
using thence::detail::spin_wait;

} // namespace thence::exec::detail

#endif // C++20
#endif
