// SPDX-License-Identifier: BSD-3-Clause
// The binomial tree of a collective call: what a member waits for, and whom it tells. It calls neither MPI nor the
// space, so that a test may have more members than there are processes.
#pragma once

#include "onesided/gaspi/groups.hpp"

#include <cstdint>
#include <exception>
#include <utility>

namespace thence::gaspi {

// What a member has sent; it may come in several packets.
struct contribution {
    bytes value;
    std::uint64_t whole = 0; // its length
    bool has_failed = false;
};

inline bool combine(const combination &with, bytes &into, const bytes &other) noexcept {
    try {
        return with.combine(into, other);
    } catch (const std::exception &) {
        return false;
    }
}

// True: the call is complete. Up: what the members behind this one give is combined. Down: the result is passed on to
// them. `send(index, way)` sends what the group has to a member; false: it cannot be sent. `take(index, way, taken)`
// takes what a member has sent; false: it has not come.
template <class Send, class Take> bool advance(group &g, const combination &with, Send send, Take take) noexcept {
    const int size = static_cast<int>(g.ranks.size());
    contribution other;
    bool has_parent = g.own != 0;
    for (; g.way == direction::up; g.mask *= 2) {
        if (g.mask >= size) {
            g.way = direction::down;
            break;
        }
        if ((g.own & g.mask) != 0) {
            if (!send(g.own - g.mask, direction::up)) {
                g.has_failed = true;
                has_parent = false; // nothing will come from there
            }
            g.way = direction::down;
            break;
        }
        if (g.own + g.mask < size) {
            if (!take(g.own + g.mask, direction::up, other)) {
                return false;
            }
            g.has_failed = g.has_failed || other.has_failed || !combine(with, g.value, other.value);
        }
    }
    if (has_parent) {
        if (!take(g.own - g.mask, direction::down, other)) {
            return false;
        }
        g.has_failed = g.has_failed || other.has_failed;
        g.value = std::move(other.value);
    }
    for (int mask = g.mask / 2; mask != 0; mask /= 2) {
        if (g.own + mask < size && !send(g.own + mask, direction::down)) {
            g.has_failed = true; // the others learn of it all the same
        }
    }
    return true;
}

} // namespace thence::gaspi
