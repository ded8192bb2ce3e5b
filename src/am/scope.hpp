// SPDX-License-Identifier: BSD-3-Clause
// What this thread does for an engine.
#pragma once

#include "core/base/clock.hpp"

namespace thence::am {

class message_engine;

struct handler_scope {
    const message_engine *of = nullptr;  // the engine whose handlers, or what is called like them, it runs
    base::nanoseconds waiting_since = 0; // messages wait that these have sent; 0: none does
    long handled = 0;                    // since a poll has begun
    bool flushes = false;                // it sends what was sent where an operation has ended
};
inline constinit thread_local handler_scope scope;

} // namespace thence::am
