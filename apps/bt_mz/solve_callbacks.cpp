// SPDX-License-Identifier: BSD-3-Clause
// One thread and callbacks: the messages of a zone have one continuation. A zone is computed when it has the faces of
// its neighbours, whatever other zones wait for, so zones run ahead of each other and messages travel meanwhile.
#include "ready_zones.hpp"

#include "common/check.hpp"

#include <thence/backoff.h>
#include <thence/thence.h>

namespace bt_mz {
namespace {

using apps::check;

class Callbacks {
public:
    explicit Callbacks(Run &r) : run(r), ready(r), arrivals(r.zones.size()) {
        backoff.spins = 2000; // a message usually comes sooner, and a pause would delay the step
        check(thence_cr_create(0, -1, MPI_INFO_NULL, &cr));
        for (auto &z : run.zones) {
            arrivals[static_cast<std::size_t>(z->index)] = {this, z.get()};
        }
    }
    ~Callbacks() { check(thence_free(&cr)); }
    Callbacks(const Callbacks &) = delete;
    Callbacks &operator=(const Callbacks &) = delete;

    void solve() {
        for (auto &z : run.zones) {
            Run::copy_out(*z, 0);
        }
        for (auto &z : run.zones) {
            exchange(*z, 0);
        }
        for (long left = static_cast<long>(run.steps) * static_cast<long>(run.zones.size()); left > 0;) {
            if (pending > 0) {
                check(thence_progress()); // once before each zone
            }
            LocalZone *z = ready.next(run);
            if (z == nullptr) { // until messages arrive; other programs may want the processor
                thence_backoff_pause(&backoff);
                continue;
            }
            thence_backoff_found(&backoff);
            ready.compute(run, *z, [this](LocalZone &zone, int t) { exchange(zone, t); });
            --left;
        }
    }

private:
    struct Arrival {
        Callbacks *all;
        LocalZone *zone;
    };

    // Starts the messages of exchange t. Those of exchange t - 1 are complete, since step t - 1 needed them.
    void exchange(LocalZone &z, int t) {
        MPI_Request requests[2 * sides];
        const int count = run.start_messages(z, t, requests);
        if (count == 0) {
            return;
        }
        int complete = 0;
        check(thence_attach(count, requests, arrived, &arrivals[static_cast<std::size_t>(z.index)], 0,
                            MPI_STATUSES_IGNORE, cr, &complete));
        if (complete != 0) {
            ready.messages_complete(z);
        } else {
            ++pending;
        }
    }

    static int arrived(int error, MPI_Status *, void *data) {
        check(error);
        const Arrival &arrival = *static_cast<Arrival *>(data);
        arrival.all->ready.messages_complete(*arrival.zone);
        --arrival.all->pending;
        return error;
    }

    Run &run;
    ReadyZones ready;
    std::vector<Arrival> arrivals; // of each zone
    MPI_Request cr = MPI_REQUEST_NULL;
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    int pending = 0; // continuations
};

} // namespace

void solve_callbacks(Run &run) {
    Callbacks(run).solve();
}

} // namespace bt_mz
