// SPDX-License-Identifier: BSD-3-Clause
#include "core/diagnose/thread_log.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thence::diagnose {

namespace {

thread_local constinit thread_log *mine = nullptr;
std::atomic<thread_log *> newest{nullptr};

__attribute__((noinline)) thread_log &create_log() noexcept {
    mine = new thread_log;
    mine->thread = static_cast<int>(syscall(SYS_gettid));
    pthread_getname_np(pthread_self(), mine->name, sizeof mine->name);
    mine->next = newest.load(std::memory_order_relaxed);
    while (!newest.compare_exchange_weak(mine->next, mine, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return *mine;
}

} // namespace

thread_log &this_thread_log() noexcept {
    return mine != nullptr ? *mine : create_log();
}

thread_log *all_thread_logs() noexcept {
    return newest.load(std::memory_order_acquire);
}

} // namespace thence::diagnose
