// SPDX-License-Identifier: BSD-3-Clause
// A lock that one byte holds and that is rarely contended. A waiter spins for some 10 us, then sleeps in a loop.
//
// Most critical sections are a few instructions. Two are long: polled_set holds its lock while MPI tests requests, and
// the search of the native Open MPI engine holds one. A thread that only wants to poll uses try_lock() there and does
// not wait.
#pragma once

#include <atomic>
#include <time.h>

namespace thence::base {

inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Spins, then sleeps: the holder may need this processor. It does not yield: beside a thread that computes that costs a
// time slice of 3 to 4 ms.
class spin_wait {
public:
    void operator()() noexcept {
        if (++rounds_ < spins) {
            cpu_relax();
        } else {
            const timespec length{0, sleep};
            nanosleep(&length, nullptr);
        }
    }

private:
    static constexpr unsigned spins = 512;
    static constexpr long sleep = 20'000; // nanoseconds, and the timer slack of the thread
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
