// SPDX-License-Identifier: BSD-3-Clause
// An intrusive FIFO that any thread pushes to without a lock and any thread pops from.
//
// Invariant: an item is in at most one queue, and in that queue exactly once: it is reachable from `inbox_` or from
// `outbox_`, never from both. push() only swings `inbox_`; the moves inbox -> outbox and the pop happen under `lock_`.
// Items come out in the order of their pushes (per pusher). pop() hands out one item at a time, so a consumer that runs
// a long callback holds back nothing that another consumer could run.
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
        lock_.lock();
        Item *item = outbox_.load(std::memory_order_relaxed);
        if (item == nullptr) [[unlikely]] {
            item = reversed(inbox_.load(std::memory_order_relaxed) == nullptr
                                ? nullptr
                                : inbox_.exchange(nullptr, std::memory_order_acquire));
            if (item == nullptr) {
                lock_.unlock();
                return nullptr;
            }
        }
        outbox_.store(item->next, std::memory_order_relaxed);
        lock_.unlock();
        return item;
    }

private:
    static Item *reversed(Item *list) noexcept {
        Item *result = nullptr;
        while (list != nullptr) {
            Item *next = list->next;
            list->next = result;
            result = list;
            list = next;
        }
        return result;
    }

    std::atomic<Item *> inbox_{nullptr};  // newest first
    std::atomic<Item *> outbox_{nullptr}; // oldest first; written under lock_ only
    spin_lock lock_;
};

} // namespace thence::base
