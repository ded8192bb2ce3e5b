// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/wire/packet.hpp"

#include "core/base/spin_lock.hpp"

#include <mutex>
#include <new>

namespace thence::wire {

namespace {

base::spin_lock lock; // guards the list
packet *unused_packets = nullptr;

} // namespace

packet *take_packet() noexcept {
    {
        const std::scoped_lock guard(lock);
        if (packet *const taken = unused_packets; taken != nullptr) {
            unused_packets = taken->next;
            return taken;
        }
    }
    return new (std::nothrow) packet;
}

void give_packet(packet *unused) noexcept {
    const std::scoped_lock guard(lock);
    unused->next = unused_packets;
    unused_packets = unused;
}

} // namespace thence::wire
