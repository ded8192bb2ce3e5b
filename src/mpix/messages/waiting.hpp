// SPDX-License-Identifier: BSD-3-Clause
// How a thread waits for messages: it pauses as every loop that polls (core/progress/backoff.hpp). Meanwhile
// it receives what other processes have sent, drives the endpoints that requests need, and polls the other sources of
// progress, so that continuations run while a thread is blocked here.
#pragma once

#include "core/progress/backoff.hpp"

namespace thence::messages {

class waiting {
public:
    // One turn. The caller checks its condition before each.
    void operator()() noexcept;

private:
    unsigned turns_ = 0;
    thence_backoff backoff_ = progress::backoff_with(20'000, 256);
};

} // namespace thence::messages
