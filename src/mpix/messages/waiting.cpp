// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/messages/waiting.hpp"

#include "core/progress/catch_up.hpp"
#include "core/progress/source.hpp"
#include "mpix/messages/transport.hpp"

namespace thence::messages {

namespace {

constexpr unsigned poll_others_every = 32;
constexpr long most_run = 64;

} // namespace

void waiting::operator()() noexcept {
    ++turns_;
    const bool received = any_transport() && poll_transports(1);
    if (turns_ % poll_others_every == 0 && progress::any_outstanding()) {
        progress::poll_sources(progress::polled_from::outside);
        progress::run_sources(most_run);
    }
    // After a receive the caller checks its condition before any pause.
    if (!received) {
        progress::pause_and_catch_up(backoff_);
    }
}

} // namespace thence::messages
