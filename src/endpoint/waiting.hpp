// SPDX-License-Identifier: BSD-3-Clause
// How a thread waits for messages: it spins a little, then yields its processor, then sleeps for short times. Meanwhile
// it receives what other processes have sent, drives the endpoints that requests need, and polls the other sources of
// progress, so that continuations run while a thread is blocked here.
#pragma once

namespace thence::endpoint {

class waiting {
public:
    // One turn. The caller checks its condition before each.
    void operator()() noexcept;

private:
    unsigned turns_ = 0;
};

} // namespace thence::endpoint
