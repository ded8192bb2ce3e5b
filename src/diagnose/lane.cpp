// SPDX-License-Identifier: BSD-3-Clause
#include "diagnose/lane.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thence::diagnose {

namespace {

thread_local constinit lane *mine = nullptr;
std::atomic<lane *> newest{nullptr};

__attribute__((noinline)) lane &enter() noexcept {
    mine = new lane;
    mine->thread = static_cast<int>(syscall(SYS_gettid));
    pthread_getname_np(pthread_self(), mine->name, sizeof mine->name);
    mine->next = newest.load(std::memory_order_relaxed);
    while (!newest.compare_exchange_weak(mine->next, mine, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return *mine;
}

} // namespace

lane &this_lane() noexcept {
    return mine != nullptr ? *mine : enter();
}

lane *all_lanes() noexcept {
    return newest.load(std::memory_order_acquire);
}

} // namespace thence::diagnose
