// SPDX-License-Identifier: BSD-3-Clause
// How a thread waits for a message. In each turn it receives what other processes have sent; in every 32nd it polls all
// sources of progress and runs continuations, so that these go on while the thread is blocked. If it has received
// nothing it pauses, for longer and longer times (core/progress/backoff.hpp).
#pragma once

#include "core/progress/backoff.hpp"

namespace thence::messages {

class waiting {
public:
    // One turn. The caller checks its condition before each.
    void operator()() noexcept;

private:
    unsigned turns_ = 0;
    thence_backoff backoff_ = progress::backoff_of_short_wait();
};

} // namespace thence::messages
