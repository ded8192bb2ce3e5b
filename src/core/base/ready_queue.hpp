// SPDX-License-Identifier: BSD-3-Clause
// An intrusive queue, first in, first out. Any thread may push and pop. push() takes no lock.
//
// push() puts items into the list `inbox_`, newest first. pop() takes items from the list `outbox_`, oldest first. If
// the outbox is empty, pop() takes the whole inbox, returns its oldest item, and moves the others to the outbox.
//
// `outbox_` is also the lock of its list. A thread exchanges `busy` into it. If it gets another value, it owns the
// list, and unlocks it by storing the rest of the list.
//
// Invariant: an item is in at most one queue, and exactly once: in the inbox, in the outbox, or in one pop() that moves
// it from the inbox to the outbox.
//
// Order: if one thread pops, it gets the items of each pusher in the order of their pushes. Each pop() takes one item,
// so while a thread runs a long callback, other threads can pop the items behind it.
#pragma once

#include "core/base/load_plain.hpp"
#include "core/base/spin_lock.hpp"

#include <atomic>
#include <cstdint>

namespace thence::base {

template <class Item> class ready_queue {
public:
    // May be called from inside MPI's own completion path: it neither locks nor allocates.
    void push(Item *item) noexcept {
        Item *head = inbox_.load(std::memory_order_relaxed);
        do {
            item->next = head;
        } while (!inbox_.compare_exchange_weak(head, item, std::memory_order_release, std::memory_order_relaxed));
    }

    // The plain loads save two instructions per call.
    bool empty() const noexcept { return load_plain(outbox_) == nullptr && load_plain(inbox_) == nullptr; }

    // If the outbox is free and empty, it need not be locked. So in the common case of one item it is never used. Each
    // plain load saves one instruction.
    Item *pop() noexcept {
        if (load_plain(outbox_) == nullptr) {
            return pop_inbox();
        }
        Item *first = outbox_.exchange(busy(), std::memory_order_acquire);
        if (!is_item(first)) [[unlikely]] {
            first = first == nullptr ? nullptr : take_outbox();
            if (first == nullptr) {
                outbox_.store(nullptr, std::memory_order_release);
                return pop_inbox();
            }
        }
        outbox_.store(first->next, std::memory_order_release);
        return first;
    }

    // Puts back the item that was popped last: the next pop() returns it.
    __attribute__((noinline)) void put_back(Item *item) noexcept {
        Item *first = outbox_.exchange(busy(), std::memory_order_acquire);
        if (first == busy()) {
            first = take_outbox();
        }
        item->next = first;
        outbox_.store(item, std::memory_order_release);
    }

private:
    static Item *busy() noexcept { return reinterpret_cast<Item *>(std::uintptr_t{1}); }
    static bool is_item(Item *item) noexcept { return reinterpret_cast<std::uintptr_t>(item) > 1; }

    // Only this thread can access the items that it took from the inbox. If there is one item, no list has to be
    // ordered.
    Item *pop_inbox() noexcept {
        if (load_plain(inbox_) == nullptr) {
            return nullptr;
        }
        Item *item = inbox_.exchange(nullptr, std::memory_order_acquire);
        return item == nullptr || item->next == nullptr ? item : share(item);
    }

    // Waits until the list is free and returns it, or null if it is empty. The caller stores the rest of it.
    __attribute__((noinline)) Item *take_outbox() noexcept {
        spin_wait wait;
        Item *first = busy();
        while (first == busy()) {
            wait();
            if (outbox_.load(std::memory_order_relaxed) != busy()) {
                first = outbox_.exchange(busy(), std::memory_order_acquire);
            }
        }
        return first;
    }

    // Reverses the list that was taken from the inbox, returns its oldest item, and puts the rest into the outbox.
    // expect() prefetches the data of each item. After large messages no cache holds that data, and the prefetches of
    // all items overlap.
    __attribute__((noinline)) Item *share(Item *newest) noexcept {
        Item *oldest = nullptr;
        while (newest != nullptr) {
            newest->expect();
            Item *const older = newest->next;
            newest->next = oldest;
            oldest = newest;
            newest = older;
        }
        Item *first = outbox_.exchange(busy(), std::memory_order_acquire);
        if (first == busy()) {
            first = take_outbox();
        }
        // Another thread may have put older items into the outbox meanwhile. Ours go behind them.
        if (first != nullptr) {
            Item *tail = first;
            while (tail->next != nullptr) {
                tail = tail->next;
            }
            tail->next = oldest;
            oldest = first;
        }
        outbox_.store(oldest->next, std::memory_order_release);
        return oldest;
    }

    std::atomic<Item *> inbox_{nullptr};  // newest first
    std::atomic<Item *> outbox_{nullptr}; // oldest first, or busy()
};

} // namespace thence::base
