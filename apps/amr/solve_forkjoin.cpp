// SPDX-License-Identifier: BSD-3-Clause
// Fork-join: the threads of a rank share the packing, the copying and the blocks of a stage, with a barrier after each.
// One thread receives and sends while the others are idle.
#include "link.hpp"

namespace amr {
namespace {

template <class F> void share(const Run &run, std::size_t count, F work) {
#pragma omp parallel for num_threads(run.threads) schedule(dynamic)
    for (std::size_t i = 0; i < count; ++i) {
        work(i);
    }
}

} // namespace

void solve_forkjoin(Run &run) {
    Link link(run);
    run.epochs([&](Epoch epoch) {
        const Plan &plan = run.domain.plan();
        std::vector<Flight> received, sent;
        for (int stage = epoch.first; stage < epoch.end; ++stage) {
            for (const Parcel &parcel : plan.incoming) {
                received.push_back(link.receive(stage, parcel));
            }
            link.wait(sent);
            share(run, plan.outgoing.size(), [&](std::size_t i) { run.domain.pack(plan.outgoing[i]); });
            for (const Parcel &parcel : plan.outgoing) {
                sent.push_back(link.send(stage, parcel));
            }
            share(run, plan.mine.size(), [&](std::size_t i) { run.domain.copy_local(plan.mine[i]); });
            link.wait(received);
            share(run, plan.incoming.size(), [&](std::size_t i) { run.domain.unpack(plan.incoming[i]); });
            share(run, plan.mine.size(), [&](std::size_t i) { run.compute(stage, plan.mine[i]); });
        }
        link.wait(sent);
    });
}

} // namespace amr
