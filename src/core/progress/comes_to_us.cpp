// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/comes_to_us.hpp"

#include "core/progress/interposed.hpp"

#include <thread>

namespace thence::progress {

std::atomic<bool> asks_who_comes{false};

namespace {

// The thread in comes_to_us(): calls of other threads come to us meanwhile, and do not count.
std::atomic<std::thread::id> asking;
bool call_has_come = false; // used by that thread alone

} // namespace

void note_that_it_came() noexcept {
    if (asking.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
        call_has_come = true;
    }
}

bool comes_to_us(void (*make)(void *function, void *arguments), void *function, void *arguments) noexcept {
    asking.store(std::this_thread::get_id(), std::memory_order_relaxed);
    call_has_come = false;
    asks_who_comes.store(true, std::memory_order_relaxed);
    add_way_to_wait(); // no call takes its fast path
    add_own_communicators();
    make(function, arguments);
    remove_own_communicators();
    remove_way_to_wait();
    asks_who_comes.store(false, std::memory_order_relaxed);
    return call_has_come;
}

} // namespace thence::progress
