// SPDX-License-Identifier: BSD-3-Clause
// Plain MPI in the same order as `callbacks`: the requests of all zones in one array, MPI_Testsome between two zones
// and MPI_Waitsome if none is ready. The program counts by hand which messages of which zone are outstanding.
#include "ready_zones.hpp"

namespace bt_mz {
namespace {

class Waitsome {
public:
    explicit Waitsome(Run &r)
        : run(r), ready(r), requests(per_zone * r.zones.size(), MPI_REQUEST_NULL), done(requests.size()),
          outstanding(r.zones.size(), 0) {}

    void solve() {
        for (auto &z : run.zones) {
            Run::copy_out(*z, 0);
        }
        for (auto &z : run.zones) {
            exchange(*z, 0);
        }
        for (long left = static_cast<long>(run.steps) * static_cast<long>(run.zones.size()); left > 0;) {
            LocalZone *z = ready.next(run);
            int count = 0;
            const auto call = z == nullptr ? MPI_Waitsome : MPI_Testsome;
            call(static_cast<int>(requests.size()), requests.data(), &count, done.data(), MPI_STATUSES_IGNORE);
            for (int i = 0; i < count; ++i) {
                const std::size_t index = static_cast<std::size_t>(done[static_cast<std::size_t>(i)]) / per_zone;
                if (--outstanding[index] == 0) {
                    ready.messages_complete(*run.zones[index]);
                }
            }
            if (z == nullptr) {
                continue;
            }
            ready.compute(run, *z, [this](LocalZone &zone, int t) { exchange(zone, t); });
            --left;
        }
    }

private:
    static constexpr std::size_t per_zone = std::size_t{2} * sides;

    void exchange(LocalZone &z, int t) {
        const auto index = static_cast<std::size_t>(z.index);
        outstanding[index] = run.start_messages(z, t, &requests[per_zone * index]);
    }

    Run &run;
    ReadyZones ready;
    std::vector<MPI_Request> requests; // places for 8 of each zone
    std::vector<int> done;
    std::vector<int> outstanding; // of each zone
};

} // namespace

void solve_waitsome(Run &run) {
    Waitsome(run).solve();
}

} // namespace bt_mz
