// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/wire/packet.hpp"

#include "core/base/free_list.hpp"

namespace thence::wire {

namespace {

constinit base::shared_free_list<packet> unused_packets;

} // namespace

packet *take_packet() noexcept {
    return unused_packets.take_or_make();
}

void give_packet(packet *unused) noexcept {
    unused_packets.give(*unused);
}

} // namespace thence::wire
