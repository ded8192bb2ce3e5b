// SPDX-License-Identifier: BSD-3-Clause
// Which zones of this rank may be computed next, for the variants on one thread. Step t of a zone needs exchange t with
// its four neighbours: one event for all messages, and one for each side where the neighbour is of this rank. A
// neighbour can be at most one step ahead, so two counters for each zone are sufficient.
#pragma once

#include "run.hpp"

#include <vector>

namespace bt_mz {

class ReadyZones {
public:
    explicit ReadyZones(const Run &run) : states(run.zones.size()) {
        for (const auto &z : run.zones) {
            State &state = at(*z);
            for (const LocalZone *neighbour : z->local) {
                state.needed += neighbour != nullptr ? 1 : 0;
            }
            state.needed += z->has_remote ? 1 : 0;
            // Exchange 0 needs no step of the neighbours before it.
            state.missing[0] = z->has_remote ? 1 : 0;
            state.missing[1] = state.needed;
        }
    }

    // The messages of the next exchange of this zone are complete.
    void messages_complete(const LocalZone &z) { --at(z).missing[at(z).messages++ % 2]; }

    // The zone that is furthest behind of those that may be computed; the first of several. Null if there is none.
    LocalZone *next(const Run &run) const {
        LocalZone *found = nullptr;
        for (const auto &z : run.zones) {
            const State &state = at(*z);
            if (state.step < run.steps && state.missing[state.step % 2] == 0 &&
                (found == nullptr || state.step < at(*found).step)) {
                found = z.get();
            }
        }
        return found;
    }

    // Computes the next step of a zone that has its faces. Then `exchange(zone, t)` starts exchange t, if there is one.
    template <class Exchange> void compute(Run &run, LocalZone &z, Exchange exchange) {
        const int t = at(z).step;
        run.copy_in(z, t);
        run.compute(z, t);
        Run::copy_out(z, t + 1);
        run.done(z, t);
        computed(z);
        if (t + 1 < run.steps) {
            exchange(z, t + 1);
        }
    }

private:
    struct State {
        int step = 0;        // the next
        int messages = 0;    // exchanges whose messages are complete
        int needed = 0;      // events for each exchange
        int missing[2] = {}; // of exchanges with even and odd numbers
    };

    // The step of a zone was computed and its faces of the next exchange are written.
    void computed(const LocalZone &z) {
        State &state = at(z);
        state.missing[state.step % 2] = state.needed; // for the exchange after the next
        ++state.step;
        for (const LocalZone *neighbour : z.local) {
            if (neighbour != nullptr) {
                --at(*neighbour).missing[state.step % 2];
            }
        }
    }

    State &at(const LocalZone &z) { return states[static_cast<std::size_t>(z.index)]; }
    const State &at(const LocalZone &z) const { return states[static_cast<std::size_t>(z.index)]; }

    std::vector<State> states;
};

} // namespace bt_mz
