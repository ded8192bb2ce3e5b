// SPDX-License-Identifier: BSD-3-Clause
// What a call that is interposed only for the sake of its communicator asks first.
#pragma once

#include "progress/interposed.hpp"

namespace thence::interpose {

// True if it must look at its communicator: thread communicators exist, or streams are checked. One test of one word.
inline bool communicators_matter() noexcept {
    return (progress::slow_path_reasons.load(std::memory_order_relaxed) &
            (progress::own_communicators | progress::streams_checked)) != 0;
}

} // namespace thence::interpose
