// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/waiting/library.hpp"

#include "core/continuation/library.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/progress/interposed.hpp"
#include "tasks/polling_call.hpp"

namespace thence::interpose {

bool say_interposed() noexcept {
    progress::interposed = true;
    return true;
}

void finalizing() noexcept {
    task::close_polling_calls();
    continuation::finalizing();
}

bool in_callback() noexcept {
    return continuation::this_thread.in_callback();
}

} // namespace thence::interpose
