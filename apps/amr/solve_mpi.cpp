// SPDX-License-Identifier: BSD-3-Clause
// MPI only: all receives of a stage are posted first. While messages are on their way, faces are copied between the
// blocks of this rank. What has arrived is unpacked in the order of arrival.
#include "link.hpp"

namespace amr {

void solve_mpi(Run &run) {
    Link link(run);
    run.epochs([&](Epoch epoch) {
        const Plan &plan = run.domain.plan();
        std::vector<Flight> received, sent;
        for (int stage = epoch.first; stage < epoch.end; ++stage) {
            received.clear();
            for (const Parcel &parcel : plan.incoming) {
                received.push_back(link.receive(stage, parcel));
            }
            link.wait(sent);
            for (const Parcel &parcel : plan.outgoing) {
                run.domain.pack(parcel);
                sent.push_back(link.send(stage, parcel));
            }
            for (const int leaf : plan.mine) {
                run.domain.copy_local(leaf);
            }
            for (int which; (which = link.wait_any(received)) >= 0;) {
                run.domain.unpack(plan.incoming[static_cast<std::size_t>(which)]);
            }
            for (const int leaf : plan.mine) {
                run.compute(stage, leaf);
            }
        }
        link.wait(sent);
    });
}

} // namespace amr
