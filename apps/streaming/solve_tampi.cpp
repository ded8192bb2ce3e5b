// SPDX-License-Identifier: BSD-3-Clause
// TAMPI: a task to receive a block, one to compute it and one to send it, for each block of each chunk. The tasks of a
// message start it and end; TAMPI_Iwait lets them count as complete when the message is.
#include "link.hpp"
#include "tasks.hpp"

#include "common/check.hpp"

#include <TAMPI.h>

namespace streaming {
namespace {

struct Block {
    Flight received, sent;
};

class TampiSolver {
public:
    explicit TampiSolver(Run &r) : run(r), link(r), each(static_cast<std::size_t>(r.blocks())) {}

    void receive(thence::flow &flow, int c, int b) {
        flow.submit({thence::out(run.stage.in(b))}, {.label = "receive"},
                    [this, c, b] { bind(block(b).received = link.receive(c, b)); });
    }

    void send(thence::flow &flow, int c, int b) {
        flow.submit({thence::in(run.stage.out(b))}, {.label = "send"},
                    [this, c, b] { bind(block(b).sent = link.send(c, b)); });
    }

    // For the recorder: the messages that are complete when block `b` of this chunk is computed.
    void begin(int c, int b) {
        if (run.stage.receives()) {
            link.complete(block(b).received);
        }
        if (c > 0 && run.stage.sends()) {
            link.complete(block(b).sent);
        }
    }
    void computed(int, int) {}
    void end() {
        for (const Block &b : each) {
            if (run.stage.sends()) {
                link.complete(b.sent);
            }
        }
    }

private:
    Block &block(int b) { return each[static_cast<std::size_t>(b)]; }

    void bind(const Flight &flight) {
        MPI_Request request = flight.request; // a copy: `flight` may be used again before the call returns
        const Timed timed(run.recorder, Activity::start);
        apps::check(TAMPI_Iwait(&request, MPI_STATUS_IGNORE));
    }

    Run &run;
    Link link;
    std::vector<Block> each;
};

} // namespace

void solve_tampi(Run &run) {
    TampiSolver messages(run);
    run_tasks(run, messages);
}

} // namespace streaming
