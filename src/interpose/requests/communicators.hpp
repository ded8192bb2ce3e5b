// SPDX-License-Identifier: BSD-3-Clause
// What an interposed call without requests asks first.
#pragma once

#include "core/base/load_plain.hpp"
#include "core/progress/interposed.hpp"

namespace thence::interpose {

// True if a call without requests only has to call MPI's own function. The plain load saves one instruction of each
// interposed call.
inline bool is_plain() noexcept {
    return base::load_plain(progress::slow_path_reasons) == 0;
}
// Of a call that is interposed only for the sake of its communicator: true if it must look at that. One test of one
// word.
inline bool communicators_matter() noexcept {
    return (base::load_plain(progress::slow_path_reasons) & progress::own_communicators) != 0;
}

} // namespace thence::interpose
