// SPDX-License-Identifier: BSD-3-Clause
// Two that send to each other in turn.
#pragma once

#include "measure/clock.hpp"

namespace measure {

// Microseconds of half a round trip. `first` sends first. One round trip before is not timed.
template <class Send, class Receive> double half_round_trip(bool first, int round_trips, Send send, Receive receive) {
    nanoseconds start = 0;
    for (int i = -1; i < round_trips; ++i) {
        if (i == 0) {
            start = now();
        }
        if (first) {
            send();
            receive();
        } else {
            receive();
            send();
        }
    }
    return static_cast<double>(now() - start) / (2000.0 * round_trips);
}

} // namespace measure
