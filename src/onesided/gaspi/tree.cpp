// SPDX-License-Identifier: BSD-3-Clause
// Collective calls, by packets along a binomial tree: to the first rank, and back. A call that has timed out goes on
// where it was when it is called again.
//
// A process where a call fails says so in what it sends on, so that the call fails in all of them, and none waits for
// one that has given up. A rank that is gone counts as one that has failed.
//
// What comes before it is asked for waits in a table.
#include "onesided/gaspi/tree.hpp"

#include <exception>
#include <map>
#include <tuple>

namespace thence::gaspi {

namespace {

std::mutex table_mutex; // guards the table
// Key; number and direction; rank. Never destroyed: the helper thread outlives main().
using contributions = std::map<std::tuple<std::uint64_t, std::uint64_t, int>, contribution>;
contributions &arrived = *new contributions;
std::atomic<bool> lost_some{false}; // there was no memory for one: calls fail

// False: it cannot be sent.
bool send_to(process &self, const group &g, int index, direction way) noexcept {
    return send(self, g.ranks[static_cast<std::size_t>(index)],
                {subject::collective, g.key, 2 * g.number + static_cast<std::uint64_t>(way), g.value.data(),
                 g.has_failed ? 0 : g.value.size(), g.has_failed}) == GASPI_SUCCESS;
}

// False: it has not come.
bool take_from(process &self, const group &g, int index, direction way, contribution &taken) noexcept {
    const gaspi_rank_t rank = g.ranks[static_cast<std::size_t>(index)];
    const std::scoped_lock guard(table_mutex);
    const auto at = arrived.find({g.key, 2 * g.number + static_cast<std::uint64_t>(way), rank});
    if (at != arrived.end() && (at->second.has_failed || at->second.value.size() == at->second.whole)) {
        taken = std::move(at->second);
        arrived.erase(at);
        return true;
    }
    taken = {};
    taken.has_failed = self.world->is_gone(rank) || lost_some.load(std::memory_order_relaxed);
    return taken.has_failed;
}

bool advance(process &self, group &g, const combination &with) noexcept {
    return advance(
        g, with, [&](int index, direction way) { return send_to(self, g, index, way); },
        [&](int index, direction way, contribution &taken) { return take_from(self, g, index, way, taken); });
}

} // namespace

gaspi_return_t run(process &self, group &g, call what, const void *value, std::size_t length, const combination &with,
                   gaspi_timeout_t timeout_ms) noexcept {
    if (g.active != call::none && g.active != what) {
        return GASPI_ERR_ACTIVE_COLL;
    }
    if (g.active == call::none) {
        const auto *const from = static_cast<const unsigned char *>(value);
        try {
            g.value.assign(from, from + length);
        } catch (const std::exception &) {
            return GASPI_ERR_MEMALLOC;
        }
        g.way = direction::up;
        g.mask = 1;
        g.has_failed = false;
        g.active = what;
    }
    const deadline end(timeout_ms);
    if (!wait_until(self, end, [&] { return advance(self, g, with); })) {
        return GASPI_TIMEOUT;
    }
    g.active = call::none;
    ++g.number;
    return g.has_failed ? GASPI_ERROR : GASPI_SUCCESS;
}

void take_collective(const wire::packet &p) noexcept {
    try {
        const std::scoped_lock guard(table_mutex);
        contribution &to = arrived[{p.head.operands[0], p.head.operands[1], p.process}];
        to.whole = p.head.offset;
        to.has_failed = p.head.serial != 0;
        to.value.insert(to.value.end(), p.data, p.data + p.head.bytes);
    } catch (const std::exception &) {
        lost_some.store(true);
    }
}

void forget_contributions() noexcept {
    const std::scoped_lock guard(table_mutex);
    arrived.clear();
    lost_some.store(false);
}

} // namespace thence::gaspi
