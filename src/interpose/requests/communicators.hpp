// SPDX-License-Identifier: BSD-3-Clause
// What a call that is interposed only for the sake of its communicator asks first.
#pragma once

#include "core/base/load_plain.hpp"
#include "core/progress/interposed.hpp"

namespace thence::interpose {

// True if it must look at its communicator. One test of one word.
inline bool communicators_matter() noexcept {
    return (base::load_plain(progress::slow_path_reasons) & progress::own_communicators) != 0;
}

} // namespace thence::interpose
