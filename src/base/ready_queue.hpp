// SPDX-License-Identifier: BSD-3-Clause
// An intrusive FIFO that any thread pushes to without a lock and any thread pops from.
//
// Invariant: an item is in at most one queue, and in that queue exactly once: it is reachable from `inbox_` or from
// `outbox_`, or held by one pop() on its way between them. push() only swings `inbox_`. `outbox_` is its own lock: who
// exchanges `busy` into it and gets anything else out holds the list, and ends that by storing what is left of it.
// Items come out in the order of their pushes (per pusher, where one thread pops). pop() hands out one item at a time,
// so a consumer that runs a long callback holds back nothing that another consumer could run.
#pragma once

#include "base/peek.hpp"
#include "base/spin_lock.hpp"

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

    bool empty() const noexcept {
        return outbox_.load(std::memory_order_relaxed) == nullptr && inbox_.load(std::memory_order_relaxed) == nullptr;
    }

    // Not zero if there may be an item: a look before a call, for who comes back anyway. See peek.hpp.
    std::uintptr_t glance() const noexcept {
        return reinterpret_cast<std::uintptr_t>(peek(inbox_)) | reinterpret_cast<std::uintptr_t>(peek(outbox_));
    }

    Item *pop() noexcept {
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

    // The same where one item is likely; null if there is none, or more to choose from than the inbox.
    Item *pop_newcomer() noexcept { return peek(outbox_) != nullptr ? nullptr : pop_inbox(); }

    // The item that was popped last is the next again.
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

    Item *pop_inbox() noexcept {
        // What we take from the inbox is ours alone; one item needs no list to stay in order.
        Item *item = inbox_.exchange(nullptr, std::memory_order_acquire);
        return item == nullptr || item->next == nullptr ? item : share(item);
    }

    // The list, when it is free; null if it is empty. The caller stores what is left of it.
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

    // Turns what came out of the inbox around, keeps the oldest and leaves the rest to everybody. Items are told that
    // they are expected, all before the first one, so that the memory which each will need comes at the same time.
    __attribute__((noinline)) Item *share(Item *newest) noexcept {
        Item *oldest = nullptr;
        for (;;) { // three at a time, so that no pointer is moved from one name to another
            Item *const second = newest->next;
            newest->expect();
            newest->next = oldest;
            if (second == nullptr) {
                oldest = newest;
                break;
            }
            Item *const third = second->next;
            second->expect();
            second->next = newest;
            if (third == nullptr) {
                oldest = second;
                break;
            }
            Item *const fourth = third->next;
            third->expect();
            third->next = second;
            oldest = third;
            if (fourth == nullptr) {
                break;
            }
            newest = fourth;
        }
        Item *first = outbox_.exchange(busy(), std::memory_order_acquire);
        if (first == busy()) {
            first = take_outbox();
        }
        // Another thread may have shared older items meanwhile: ours go behind them.
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
