// SPDX-License-Identifier: BSD-3-Clause
// Who waits for notifications of one part, in the process that owns it. A waiter waits for one notification or several,
// until each has arrived. Each arrival serves the oldest waiter of its notification.
//
// Invariant: a waiter is in the lists of this object while it misses a notification; after that it belongs to the
// thread that has found the last one, which calls its function once. The value of a slot goes to one waiter: it is
// taken by an exchange, under the lock.
#pragma once

#include "core/base/spin_lock.hpp"
#include "core/base/visibility.hpp"
#include "onesided/notification/slots.hpp"

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace thence::notification {

struct waiter;

// One notification that a waiter misses.
struct missed {
    missed *next = nullptr; // of the same notification, younger
    waiter *owner = nullptr;
    std::uint32_t *value = nullptr; // where its value goes, or null
};

struct waiter {
    // Called when all have arrived, without locks. It owns the waiter.
    void (*arrived)(waiter &all_here) noexcept = nullptr;
    waiter *next = nullptr;   // of those that have all
    bool is_callback = false; // `arrived` calls a function of the user
    unsigned missing = 0;
    missed one;
    std::unique_ptr<missed[]> many; // in place of `one`

    // Makes room for so many notifications. False if memory is exhausted.
    bool prepare(unsigned count) noexcept {
        if (count > 1) {
            many.reset(new (std::nothrow) missed[count]);
        }
        return count == 1 || many != nullptr;
    }
};

// A list of waiters whose notifications have arrived.
struct arrived_list {
    waiter *first = nullptr;
    waiter **end = &first;
    arrived_list() noexcept = default;
    arrived_list &operator=(arrived_list &&) = delete;
    void add(waiter &w) noexcept {
        w.next = nullptr;
        *end = &w;
        end = &w.next;
    }
    waiter *pop() noexcept {
        waiter *const w = first;
        if (w != nullptr && (first = w->next) == nullptr) {
            end = &first;
        }
        return w;
    }
};

class waiters {
public:
    explicit waiters(slots watched) noexcept : slots_(watched) {}
    waiters &operator=(waiters &&) = delete;

    // The part has got other memory. Nobody waits.
    void watch(slots watched) noexcept;
    // The memory of the part goes. False, and nothing has changed: somebody waits.
    bool forget() noexcept;
    // Makes the memory for the lists, if it was not made. False if there is none.
    bool make_room() noexcept { return has_room_.load(std::memory_order_acquire) || make_lists(); }
    // Waits for [first, first + count), unless all have arrived already, or the part that had them is gone meanwhile:
    // then the waiter is not listed. `values` may be null. `others`: older waiters that were served meanwhile. There
    // was room, and there is `added.many` for more than one.
    enum class result { waits, all_here, no_such };
    result add(waiter &added, unsigned first, unsigned count, std::uint32_t *values, arrived_list &others) noexcept;
    // Looks at what has been marked. Adds those that have all to `ready`. If another thread looks already, or adds, it
    // does nothing.
    void look(arrived_list &ready) noexcept;

    // Approximately.
    bool any() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }
    bool may_have_arrived() noexcept;

private:
    THENCE_INTERNAL bool make_lists() noexcept;
    void serve(unsigned i, std::uint32_t value, arrived_list &ready) noexcept;

    base::spin_lock lock_; // guards what follows
    slots slots_;
    std::vector<missed *> oldest_; // of each notification
    std::atomic<bool> has_room_{false};
    std::atomic<long> waiting_{0}; // waiters that are listed
};

} // namespace thence::notification
