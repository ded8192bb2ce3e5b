// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/messages/source.hpp"

#include "core/progress/source.hpp"
#include "mpix/messages/endpoint.hpp"
#include "mpix/messages/requests.hpp"
#include "mpix/messages/scheduled.hpp"
#include "mpix/messages/transport.hpp"

#include <mutex>

namespace thence::messages {

namespace {

// A receive that a thread blocks in may be left by the cancel of another one, when no request is open any more.
bool outstanding() noexcept {
    return open_requests.load(std::memory_order_seq_cst) != 0 || any_cancelled();
}

bool poll(progress::polled_from where) noexcept {
    if (where == progress::polled_from::locked_hook || !outstanding()) {
        return false;
    }
    finish_cancelled();
    poll_transports();
    drive_needed();
    advance_scheduled();
    return false;
}

long run(long) noexcept {
    return 0; // a poll completes all it finds
}

constexpr progress::source as_source{"endpoints", &outstanding, &poll, &run};

std::mutex use_mutex; // guards users
long users = 0;

} // namespace

bool begin_use() noexcept {
    const std::scoped_lock guard(use_mutex);
    if (users == 0 && !progress::add_source(as_source)) {
        return false;
    }
    ++users;
    return true;
}

void end_use() noexcept {
    const std::scoped_lock guard(use_mutex);
    if (--users == 0) {
        progress::remove_source(as_source);
    }
}

} // namespace thence::messages
