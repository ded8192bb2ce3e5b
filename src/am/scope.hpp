// SPDX-License-Identifier: BSD-3-Clause
// What this thread does for an engine.
#pragma once

#include "core/base/clock.hpp"

#include <cstdint>

namespace thence::am {

class message_engine;

struct handler_scope {
    const message_engine *engine = nullptr; // the engine whose handlers, or what is called like them, it runs
    base::nanoseconds waiting_since = 0;    // messages wait that these have sent; 0: none does
    std::uint32_t handled = 0;              // wraps
    std::uint16_t probes = 0;               // continuations of network::in_callback() that have run; wraps
    bool flushes = false;                   // it sends what was sent where an operation has ended
};
inline constinit thread_local handler_scope scope;

} // namespace thence::am
