// SPDX-License-Identifier: BSD-3-Clause
// A queue from one thread to another without matching, ranks or tags: the least that a message between two threads
// costs. Up to 32 bytes lie in the queue. The receiver copies more from the sender's buffer, and the sender waits for
// that.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sched.h>

namespace threadcomms {

class lane {
public:
    void send(const void *data, std::size_t bytes) {
        slot &s = slots_[sent_ % slots_.size()];
        wait_for(taken_, sent_ < slots_.size() ? 0 : sent_ + 1 - slots_.size());
        if (bytes <= sizeof s.inside) {
            std::memcpy(s.inside, data, bytes);
        } else {
            s.data = data;
        }
        s.turn.store(++sent_, std::memory_order_release);
        if (bytes > sizeof s.inside) {
            wait_for(taken_, sent_);
        }
    }
    void receive(void *data, std::size_t bytes) {
        slot &s = slots_[received_ % slots_.size()];
        wait_for(s.turn, ++received_);
        std::memcpy(data, bytes <= sizeof s.inside ? s.inside : s.data, bytes);
        taken_.store(received_, std::memory_order_release);
    }

private:
    static void wait_for(const std::atomic<std::uint64_t> &word, std::uint64_t at_least) {
        for (unsigned turns = 0; word.load(std::memory_order_acquire) < at_least; ++turns) {
            if (turns > 1000) {
                sched_yield(); // there may be fewer processors than threads
            }
        }
    }
    struct alignas(64) slot {
        std::atomic<std::uint64_t> turn{0}; // the number of the message that it has, from 1
        union {
            unsigned char inside[32];
            const void *data;
        };
    };
    std::array<slot, 16> slots_{};
    alignas(64) std::atomic<std::uint64_t> taken_{0};
    alignas(64) std::uint64_t sent_ = 0;     // of the sender
    alignas(64) std::uint64_t received_ = 0; // of the receiver
};

} // namespace threadcomms
