// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/reaches_libthence.hpp"

#include "core/progress/interposed.hpp"

#include <thread>

namespace thence::progress {

std::atomic<bool> is_probing{false};

namespace {

// The thread in reaches_libthence(): calls of other threads are interposed meanwhile, and do not count.
std::atomic<std::thread::id> probing_thread;
bool call_was_interposed = false; // used by that thread alone

} // namespace

void note_interposed() noexcept {
    if (probing_thread.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
        call_was_interposed = true;
    }
}

bool reaches_libthence(void (*make)(void *function, void *arguments), void *function, void *arguments) noexcept {
    probing_thread.store(std::this_thread::get_id(), std::memory_order_relaxed);
    call_was_interposed = false;
    is_probing.store(true, std::memory_order_relaxed);
    add_way_to_wait(); // no call takes its fast path
    add_own_communicators();
    make(function, arguments);
    remove_own_communicators();
    remove_way_to_wait();
    is_probing.store(false, std::memory_order_relaxed);
    return call_was_interposed;
}

} // namespace thence::progress
