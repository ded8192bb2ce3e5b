// SPDX-License-Identifier: BSD-3-Clause
// The task graph of the variants with tasks (thence/dataflow.hpp): tasks to pack and send a parcel, to receive and to
// unpack one, to copy faces between blocks of this rank, and to compute a block. No task waits for a stage: blocks
// whose neighbours are ready are computed while others wait. `Messages` says how parcels are sent and received.
#pragma once

#include "link.hpp"

#include <semaphore>
#include <thence/dataflow.hpp>

namespace amr {

// What tasks name as data: the cells of a block, its ghosts, and the parcels.
struct Keys {
    Keys(std::size_t leaves, const Plan &plan)
        : cells(leaves), ghosts(leaves), sent(plan.outgoing.size()), received(plan.incoming.size()) {}
    std::vector<char> cells, ghosts, sent, received;
};

// An epoch as tasks. A task creates all others, so that only the workers run tasks: this thread sleeps.
template <class Messages> void run_tasks(Run &run, thence::flow &flow, Messages &messages, Epoch epoch) {
    Domain &domain = run.domain;
    const Plan &plan = domain.plan();
    const Keys keys(static_cast<std::size_t>(domain.mesh().size()), plan);
    const auto key = [](const std::vector<char> &of, auto i) { return &of[static_cast<std::size_t>(i)]; };
    std::binary_semaphore over{0};
    flow.submit({}, [&] {
        std::vector<thence::access> accesses;
        for (int stage = epoch.first; stage < epoch.end; ++stage) {
            for (std::size_t i = 0; i < plan.incoming.size(); ++i) {
                messages.receive(flow, key(keys.received, i), stage, i);
            }
            for (std::size_t i = 0; i < plan.outgoing.size(); ++i) {
                accesses = {thence::inout(key(keys.sent, i))};
                for (const Transfer &t : plan.outgoing[i].transfers) {
                    accesses.push_back(thence::in(key(keys.cells, t.from)));
                }
                messages.send(flow, accesses, stage, i);
            }
            for (const int leaf : plan.mine) {
                accesses = {thence::in(key(keys.cells, leaf)), thence::concurrent(key(keys.ghosts, leaf))};
                for (const Transfer &t : plan.local[static_cast<std::size_t>(leaf)]) {
                    accesses.push_back(thence::in(key(keys.cells, t.from)));
                }
                flow.submit(accesses, {.label = "copy"}, [&domain, leaf] { domain.copy_local(leaf); });
            }
            for (std::size_t i = 0; i < plan.incoming.size(); ++i) {
                accesses = {thence::in(key(keys.received, i))};
                for (const Transfer &t : plan.incoming[i].transfers) {
                    accesses.push_back(thence::concurrent(key(keys.ghosts, t.to)));
                }
                flow.submit(accesses, {.label = "unpack"}, [&messages, &domain, &plan, stage, i] {
                    messages.arrived(stage, i);
                    domain.unpack(plan.incoming[i]);
                    messages.unpacked(stage, i);
                });
            }
            for (const int leaf : plan.mine) {
                flow.submit({thence::inout(key(keys.cells, leaf)), thence::inout(key(keys.ghosts, leaf))},
                            {.label = "compute"}, [&run, stage, leaf] { run.compute(stage, leaf); });
            }
        }
        flow.taskwait();
        over.release();
    });
    over.acquire();
    flow.taskwait();
}

} // namespace amr
