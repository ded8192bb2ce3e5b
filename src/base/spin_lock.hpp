// SPDX-License-Identifier: BSD-3-Clause
// A lock for critical sections of a few instructions that call no other function, so a waiter spins only briefly.
#pragma once

#include <atomic>
#include <sched.h>

namespace thence::base {

inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Spins, then yields: on an oversubscribed core the holder may need our time slice.
class spin_wait {
public:
    void operator()() noexcept {
        if (++rounds_ < 64) {
            cpu_relax();
        } else {
            sched_yield();
        }
    }

private:
    unsigned rounds_ = 0;
};

class spin_lock {
public:
    void lock() noexcept {
        if (flag_.exchange(true, std::memory_order_acquire)) {
            wait_for();
        }
    }
    bool try_lock() noexcept {
        return !flag_.load(std::memory_order_relaxed) && !flag_.exchange(true, std::memory_order_acquire);
    }
    // For a lock that is rarely held: it exchanges without a load first.
    bool try_lock_at_once() noexcept { return !flag_.exchange(true, std::memory_order_acquire); }
    void unlock() noexcept { flag_.store(false, std::memory_order_release); }

private:
    __attribute__((noinline)) void wait_for() noexcept {
        spin_wait wait;
        do {
            wait();
        } while (flag_.load(std::memory_order_relaxed) || flag_.exchange(true, std::memory_order_acquire));
    }
    std::atomic<bool> flag_{false};
};

} // namespace thence::base
