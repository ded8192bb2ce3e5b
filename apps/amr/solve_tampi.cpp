// SPDX-License-Identifier: BSD-3-Clause
// TAMPI: a task to pack and send each parcel and one to receive it. They start the operation and end; TAMPI_Iwait lets
// them count as complete when the operation is.
#include "tasks.hpp"

#include "common/check.hpp"

#include <TAMPI.h>

namespace amr {
namespace {

class TampiMessages {
public:
    TampiMessages(Run &r, Epoch e)
        : run(r), link(r), plan(r.domain.plan()), epoch(e), received(plan.incoming.size()), sent(plan.outgoing.size()) {
    }

    void receive(thence::flow &flow, const char *key, int stage, std::size_t i) {
        flow.submit({thence::out(key)}, {.label = "receive"},
                    [this, stage, i] { bind(received[i] = link.receive(stage, plan.incoming[i])); });
    }

    void send(thence::flow &flow, const std::vector<thence::access> &accesses, int stage, std::size_t i) {
        flow.submit(accesses, {.label = "send"}, [this, stage, i] {
            if (stage > epoch.first) {
                link.complete(sent[i]);
            }
            run.domain.pack(plan.outgoing[i]);
            bind(sent[i] = link.send(stage, plan.outgoing[i]));
        });
    }

    void arrived(int, std::size_t i) { link.complete(received[i]); }
    void unpacked(int, std::size_t) {}

    // After the last task of the epoch.
    void end() {
        for (const Flight &f : sent) {
            link.complete(f);
        }
    }

private:
    void bind(const Flight &flight) {
        MPI_Request request = flight.request; // a copy: `flight` may be used again before the call returns
        const Timed timed(run.recorder, Activity::start);
        apps::check(TAMPI_Iwait(&request, MPI_STATUS_IGNORE));
    }

    Run &run;
    Link link;
    const Plan &plan;
    const Epoch epoch;
    std::vector<Flight> received, sent;
};

} // namespace

void solve_tampi(Run &run) {
    thence::flow flow({.workers = run.threads});
    run.epochs([&](Epoch epoch) {
        TampiMessages messages(run, epoch);
        run_tasks(run, flow, messages, epoch);
        messages.end();
    });
}

} // namespace amr
