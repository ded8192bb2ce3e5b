// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/grequests.hpp"

#include "grequest/source.hpp"
#include "interpose/wait_strategy.hpp"

namespace thence::interpose {

void poll_first() noexcept {
    if ((progress::slow_path_reasons.load(std::memory_order_relaxed) & progress::no_hook_runs) != 0 &&
        grequest::any_polled()) {
        take_turn();
    }
}

} // namespace thence::interpose
