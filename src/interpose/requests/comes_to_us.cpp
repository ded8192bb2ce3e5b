// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/comes_to_us.hpp"

#include "core/continuation/thread_state.hpp"
#include "core/progress/interposed.hpp"

#include <atomic>

namespace thence::interpose {

namespace {

// The thread in comes_to_us(), and whether its call has come. One at a time.
std::atomic<const void *> asking{nullptr};
bool call_has_come = false;

} // namespace

void has_come() noexcept {
    if (asking.load(std::memory_order_relaxed) == &continuation::this_thread) [[unlikely]] {
        call_has_come = true;
    }
}

bool comes_to_us(void (*make)(void *function), void *function) noexcept {
    progress::add_way_to_wait(); // no call takes its fast path
    call_has_come = false;
    asking.store(&continuation::this_thread, std::memory_order_relaxed);
    make(function);
    asking.store(nullptr, std::memory_order_relaxed);
    progress::remove_way_to_wait();
    return call_has_come;
}

} // namespace thence::interpose
