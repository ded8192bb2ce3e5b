// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/library.hpp"

#include "continuation/library.hpp"
#include "continuation/thread_state.hpp"
#include "progress/interposed.hpp"
#include "task/polling_call.hpp"

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
