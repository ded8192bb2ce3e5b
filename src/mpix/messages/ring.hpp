// SPDX-License-Identifier: BSD-3-Clause
// A bounded queue, first in, first out, for many pushers and one popper. A slot is one cache line, which carries the
// item and the turn word that says whose the slot is.
//
// Protocol: the slot of position p is slots_[p mod capacity]. Its turn word is
//   p                while the slot is free for the push at position p,
//   p + 1            while the slot has the item of position p,
//   p + capacity     after the pop: free for the push one round later.
// A pusher takes a position by compare-and-swap of `tail_`, and only after it has read that the slot is free, so no two
// pushers write one slot. Only the holder of the endpoint's lock pops, so `head_` is plain.
//
// Invariant: an item that was pushed is popped exactly once, and the items of one pusher in the order of its pushes. A
// full ring refuses the push and has changed nothing. tests/model/endpoint_ring.pml checks this.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace thence::messages {

template <class Item, std::size_t capacity> class ring {
    static_assert((capacity & (capacity - 1)) == 0);

public:
    ring() noexcept {
        for (std::size_t i = 0; i < capacity; ++i) {
            slots_[i].turn.store(i, std::memory_order_relaxed);
        }
    }

    // False if the ring is full.
    bool push(const Item &item) noexcept {
        std::uint64_t at = tail_.load(std::memory_order_relaxed);
        for (;;) {
            slot &s = slots_[at % capacity];
            const std::uint64_t turn = s.turn.load(std::memory_order_acquire);
            if (turn == at) {
                if (tail_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
                    s.item = item;
                    s.turn.store(at + 1, std::memory_order_release);
                    return true;
                }
            } else if (turn < at) { // the item of the round before is still there
                return false;
            } else { // another pusher has this position
                at = tail_.load(std::memory_order_relaxed);
            }
        }
    }

    // The oldest item, or null. Only the popper calls these three.
    Item *front() noexcept {
        slot &s = slots_[head_ % capacity];
        return s.turn.load(std::memory_order_acquire) == head_ + 1 ? &s.item : nullptr;
    }
    void pop() noexcept {
        slots_[head_ % capacity].turn.store(head_ + capacity, std::memory_order_release);
        ++head_;
        head_seen_.store(head_, std::memory_order_relaxed);
    }

    // Any thread: false if there is nothing to pop, unless another thread pops or pushes now.
    bool any() const noexcept {
        const std::uint64_t at = head_seen_.load(std::memory_order_relaxed);
        return slots_[at % capacity].turn.load(std::memory_order_acquire) == at + 1;
    }

private:
    struct alignas(64) slot {
        std::atomic<std::uint64_t> turn;
        Item item;
    };
    std::array<slot, capacity> slots_;
    alignas(64) std::atomic<std::uint64_t> tail_{0};
    alignas(64) std::uint64_t head_ = 0;
    std::atomic<std::uint64_t> head_seen_{0}; // head_, for threads that do not pop
};

} // namespace thence::messages
