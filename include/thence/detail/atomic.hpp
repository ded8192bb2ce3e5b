// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// An atomic word and a spin lock, made of the compilers' builtins. With GCC 12, <atomic> takes longer to compile than
// all of thence/exec.

#include <thence/detail/cxx20.hpp>

#include <time.h>

namespace thence::detail {

enum class order : int {
    relaxed = __ATOMIC_RELAXED,
    acquire = __ATOMIC_ACQUIRE,
    release = __ATOMIC_RELEASE,
    acq_rel = __ATOMIC_ACQ_REL,
};

/** A word that several threads may read and write at once. T is an integer or a pointer: Clang's builtins do not take
 *  enumerations. */
template <class T> class atomic {
public:
    constexpr atomic(T value = T()) noexcept : value_(value) {} // NOLINT(google-explicit-constructor)
    atomic &operator=(atomic &&) = delete;

    T load(order o = order::acquire) const noexcept { return __atomic_load_n(&value_, static_cast<int>(o)); }
    void store(T value, order o = order::release) noexcept { __atomic_store_n(&value_, value, static_cast<int>(o)); }
    T exchange(T value, order o = order::acq_rel) noexcept {
        return __atomic_exchange_n(&value_, value, static_cast<int>(o));
    }
    /** Strong. @return whether the value was `expected` and is `desired` now. If not, sets `expected` to the value. */
    bool compare_exchange(T &expected, T desired, order o = order::acq_rel) noexcept {
        return __atomic_compare_exchange_n(&value_, &expected, desired, false, static_cast<int>(o), __ATOMIC_ACQUIRE);
    }
    T fetch_add(T value, order o = order::acq_rel) noexcept {
        return __atomic_fetch_add(&value_, value, static_cast<int>(o));
    }
    T fetch_sub(T value, order o = order::acq_rel) noexcept {
        return __atomic_fetch_sub(&value_, value, static_cast<int>(o));
    }
    T fetch_or(T value, order o = order::acq_rel) noexcept {
        return __atomic_fetch_or(&value_, value, static_cast<int>(o));
    }

private:
    T value_;
};

/** Says to the processor that this thread spins. */
inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/** The back-off of a loop that waits for another thread: the first calls execute a pause instruction, later
 *  ones sleep for 20 microseconds, since the other may need this processor. A yield beside a thread that computes would
 *  cost a time slice, 3 to 4 ms. */
class spin_wait {
public:
    void operator()() noexcept {
        if (++count_ < spins) {
            spin_pause();
        } else {
            const ::timespec length{0, 20000};
            ::nanosleep(&length, nullptr);
        }
    }

private:
    static constexpr unsigned spins = 512;
    unsigned count_ = 0;
};

/** A lock of one byte that is rarely contended. Its owners hold it for a few instructions; where one may hold it for
 *  longer, others use try_lock(). The last access of unlock() is one store, so the next owner may destroy the lock. */
class spin_lock {
public:
    void lock() noexcept {
        if (locked_.exchange(true, order::acquire)) {
            wait_for();
        }
    }
    bool try_lock() noexcept { return !locked_.load(order::relaxed) && try_lock_at_once(); }
    /** For a lock that is rarely held: it exchanges without a load first. */
    bool try_lock_at_once() noexcept { return !locked_.exchange(true, order::acquire); }
    void unlock() noexcept { locked_.store(false, order::release); }

private:
    [[gnu::noinline]] void wait_for() noexcept {
        spin_wait wait;
        do {
            wait();
        } while (!try_lock());
    }
    atomic<bool> locked_{false};
};

/** Holds `lock` from its construction to its destruction. */
template <class Lock> class [[nodiscard]] locked {
public:
    explicit locked(Lock &lock) noexcept : lock_(lock) { lock_.lock(); }
    locked &operator=(locked &&) = delete;
    ~locked() { lock_.unlock(); }

private:
    Lock &lock_;
};

} // namespace thence::detail
