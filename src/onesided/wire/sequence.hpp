// SPDX-License-Identifier: BSD-3-Clause
// Hands on received packets in the order in which each process has sent them, also while receives that were posted
// earlier are late: MPI has matched them, and their data do not come.
//
// MPI matches receives in the order of their posting. So without late receives packets are handed on in that order. The
// process of a late one is not known: then the numbers of packets (header::number) say what may be handed on. A process
// gives each packet a number before it sends it, so a call of send() that begins after another has ended gives a higher
// one. Invariant: while a receive is late, a packet is handed on when all of its process with lower numbers have been.
// The number of a packet that MPI has lost holds the later ones of its process back until no receive is late.
#pragma once

#include "core/base/visibility.hpp"
#include "onesided/wire/packet.hpp"

#include <cstdint>
#include <vector>

namespace thence::wire {

class receiver;

class THENCE_INTERNAL sequence {
public:
    explicit sequence(receiver &to) noexcept : to_(to) {}
    sequence &operator=(sequence &&) = delete;
    ~sequence();
    // False if memory is exhausted.
    bool begin(int processes) noexcept;

    // `any_late`: a receive that was posted before that of this packet is late.
    void received(packet &p, bool any_late) noexcept;
    void none_is_late() noexcept;

private:
    // Of one process. All numbers below `end` have been handed on if these are as many.
    struct numbers {
        std::uint64_t handed_on = 0; // how many
        std::uint64_t end = 0;       // the greatest of them, and one
    };
    void hand_on(packet &p) noexcept;
    packet *take_next(int process, bool may_skip) noexcept;

    receiver &to_;
    std::vector<numbers> of_process_;
    packet *held_ = nullptr; // linked by next
};

} // namespace thence::wire
