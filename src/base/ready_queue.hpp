// SPDX-License-Identifier: BSD-3-Clause
// An intrusive FIFO that any thread pushes to without a lock and any thread pops from.
//
// Invariant: an item is in at most one queue, and in that queue exactly once: it is reachable from `inbox_` or from
// `outbox_`, or held by one pop() on its way between them. push() only swings `inbox_`; `outbox_` changes under
// `lock_`. Items come out in the order of their pushes (per pusher). pop() hands out one item at a time, so a consumer
// that runs a long callback holds back nothing that another consumer could run.
#pragma once

#include "base/spin_lock.hpp"

#include <mutex>

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

    // Look at empty() first where nothing is likely.
    Item *pop() noexcept {
        if (outbox_.load(std::memory_order_relaxed) == nullptr) {
            // What we take from the inbox is ours alone; one item needs no lock to stay in order.
            Item *item = inbox_.exchange(nullptr, std::memory_order_acquire);
            return item == nullptr || item->next == nullptr ? item : share(item);
        }
        lock_.lock();
        Item *item = outbox_.load(std::memory_order_relaxed);
        if (item != nullptr) [[likely]] {
            outbox_.store(item->next, std::memory_order_relaxed);
        }
        lock_.unlock();
        return item;
    }

private:
    // Turns what came out of the inbox around, keeps the oldest and leaves the rest to everybody.
    __attribute__((noinline)) Item *share(Item *newest) noexcept {
        Item *oldest = nullptr;
        while (newest != nullptr) {
            Item *next = newest->next;
            newest->next = oldest;
            oldest = newest;
            newest = next;
        }
        lock_.lock();
        // Another thread may have shared older items meanwhile: ours go behind them.
        Item *first = outbox_.load(std::memory_order_relaxed);
        if (first == nullptr) {
            outbox_.store(oldest->next, std::memory_order_relaxed);
        } else {
            Item *tail = first;
            while (tail->next != nullptr) {
                tail = tail->next;
            }
            tail->next = oldest;
            oldest = first;
            outbox_.store(first->next, std::memory_order_relaxed);
        }
        lock_.unlock();
        return oldest;
    }

    std::atomic<Item *> inbox_{nullptr};  // newest first
    std::atomic<Item *> outbox_{nullptr}; // oldest first; written under lock_ only
    spin_lock lock_;
};

} // namespace thence::base
