// SPDX-License-Identifier: BSD-3-Clause
#include "endpoint/waiting.hpp"

#include "base/spin_lock.hpp"
#include "endpoint/endpoint.hpp"
#include "endpoint/transport.hpp"
#include "progress/source.hpp"

#include <time.h>

namespace thence::endpoint {

namespace {

constexpr unsigned spins = 256;
constexpr unsigned yields = 4096; // turns before the first sleep
constexpr unsigned poll_others_every = 32;
constexpr long sleep_ns = 20'000;
constexpr long most_run = 64;

} // namespace

void waiting::operator()() noexcept {
    ++turns_;
    if (any_transport()) {
        poll_transports();
    }
    if (turns_ % poll_others_every == 0) {
        if (progress::any_outstanding()) {
            progress::poll_sources(progress::from::outside);
            progress::run_sources(most_run);
        }
    }
    if (turns_ < spins) {
        base::cpu_relax();
    } else if (turns_ < yields) {
        sched_yield();
    } else {
        const timespec nap{0, sleep_ns};
        nanosleep(&nap, nullptr);
    }
}

} // namespace thence::endpoint
