// SPDX-License-Identifier: BSD-3-Clause
// The exchange of the variants without tasks: the messages of all zones, and this thread waits for them.
#pragma once

#include "run.hpp"

namespace bt_mz {

inline void exchange_all(Run &run, int t) {
    std::vector<MPI_Request> requests(std::size_t{2} * sides * run.zones.size());
    int count = 0;
    for (auto &z : run.zones) {
        count += run.start_messages(*z, t, &requests[static_cast<std::size_t>(count)]);
    }
    const apps::Timed timed(run.recorder, apps::Activity::wait);
    MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
}

} // namespace bt_mz
