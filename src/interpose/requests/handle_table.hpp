// SPDX-License-Identifier: BSD-3-Clause
// What is known of each handle of a kind, in a table with open addressing that is read without a lock.
//
// Invariants: a handle stays in the table for good, and its value at one address, so a thread needs no lock to change
// the value, which is an atomic object. A table that has become too small is replaced by a larger one, and stays: a
// thread may still read it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>

namespace thence::interpose {

template <class Value> class handle_table {
public:
    // Null if the handle was never entered.
    Value *find(std::uintptr_t handle) const noexcept {
        const table *const in = current_.load(std::memory_order_acquire);
        if (in == nullptr) [[likely]] {
            return nullptr;
        }
        for (std::size_t i = first(handle) >> in->shift;; ++i) {
            const slot &at = in->slots[i & in->mask];
            const std::uintptr_t found = at.handle.load(std::memory_order_acquire);
            if (found == handle) {
                return at.value.load(std::memory_order_relaxed);
            }
            if (found == 0) {
                return nullptr;
            }
        }
    }
    // The same, but it is entered if it was not there. Null: no memory.
    Value *find_or_enter(std::uintptr_t handle) noexcept {
        if (Value *const found = find(handle)) {
            return found;
        }
        const std::scoped_lock guard(mutex_);
        if (Value *const found = find(handle)) {
            return found;
        }
        const table *const in = current_.load(std::memory_order_relaxed);
        if ((in == nullptr || 2 * (entered_ + 1) > in->mask) && !grow()) {
            return nullptr;
        }
        try {
            if (values_ == nullptr) {
                values_ = new std::deque<Value>; // used until the process ends, as are the tables
            }
            Value &made = values_->emplace_back();
            put(*current_.load(std::memory_order_relaxed), handle, &made);
            ++entered_;
            return &made;
        } catch (const std::bad_alloc &) {
            return nullptr;
        }
    }
    bool is_empty() const noexcept { return current_.load(std::memory_order_relaxed) == nullptr; }

private:
    struct slot {
        std::atomic<std::uintptr_t> handle{0}; // 0: free, since no object of MPI has these bits
        std::atomic<Value *> value{nullptr};   // set before the handle
    };
    struct table {
        unsigned shift;   // of the hash
        std::size_t mask; // of an index
        slot *slots;      // at least half of them are free
        // The one that it has replaced: a tool that looks for lost memory finds it.
        const table *replaced;
    };
    static constexpr unsigned bits_of_hash = 64;
    static constexpr unsigned least_size = 8; // a power of two

    static std::size_t first(std::uintptr_t handle) noexcept {
        return static_cast<std::size_t>(static_cast<std::uint64_t>(handle) * 0x9E3779B97F4A7C15U);
    }
    static void put(const table &to, std::uintptr_t handle, Value *value) noexcept {
        std::size_t i = first(handle) >> to.shift;
        while (to.slots[i & to.mask].handle.load(std::memory_order_relaxed) != 0) {
            ++i;
        }
        slot &at = to.slots[i & to.mask];
        at.value.store(value, std::memory_order_relaxed);
        at.handle.store(handle, std::memory_order_release);
    }
    // With the mutex.
    [[gnu::noinline]] bool grow() noexcept {
        const table *const before = current_.load(std::memory_order_relaxed);
        const unsigned power = before == nullptr ? least_size : bits_of_hash - before->shift + 1;
        const std::size_t size = std::size_t{1} << power;
        auto *const made =
            new (std::nothrow) table{bits_of_hash - power, size - 1, new (std::nothrow) slot[size], before};
        if (made == nullptr || made->slots == nullptr) {
            delete made;
            return false;
        }
        for (std::size_t i = 0; before != nullptr && i <= before->mask; ++i) {
            if (const std::uintptr_t handle = before->slots[i].handle.load(std::memory_order_relaxed); handle != 0) {
                put(*made, handle, before->slots[i].value.load(std::memory_order_relaxed));
            }
        }
        current_.store(made, std::memory_order_release);
        return true;
    }

    std::atomic<const table *> current_{nullptr};
    std::mutex mutex_; // of a thread that enters a handle; guards what follows
    std::size_t entered_ = 0;
    std::deque<Value> *values_ = nullptr;
};

} // namespace thence::interpose
