// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/grequests.hpp"

#include "core/progress/progress.hpp"
#include "mpix/grequest/source.hpp"
#include "onesided/source.hpp"

namespace thence::interpose {

void poll_first() noexcept {
    progress::note_if_probing();
    if ((progress::slow_path_reasons.load(std::memory_order_relaxed) & progress::no_hook_runs) != 0 &&
        (grequest::any_polled() || onesided::any_waits())) {
        progress::poll_and_run_some();
    }
}

} // namespace thence::interpose
