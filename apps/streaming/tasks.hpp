// SPDX-License-Identifier: BSD-3-Clause
// The task graph of the variants with tasks (thence/dataflow.hpp): receive -> compute -> send, for each block of each
// chunk. A block of a buffer is named by its address. `Messages` says how blocks are received and sent.
#pragma once

#include "run.hpp"

#include <semaphore>
#include <thence/dataflow.hpp>
#include <vector>

namespace streaming {

template <class Messages> void run_tasks(Run &run, Messages &messages) {
    thence::flow flow({.workers = run.threads});
    std::binary_semaphore over{0};
    // A task creates all others, so that only the workers run tasks: this thread sleeps.
    flow.submit({}, [&] {
        Stage &stage = run.stage;
        for (int c = 0; c < run.chunks(); ++c) {
            for (int b = 0; b < run.blocks(); ++b) {
                if (stage.receives()) {
                    messages.receive(flow, c, b);
                }
                flow.submit({thence::in(stage.in(b)), thence::out(stage.out(b))}, {.label = "compute"},
                            [&run, &messages, c, b] {
                                messages.begin(c, b);
                                run.compute(c, b);
                                messages.computed(c, b);
                            });
                if (stage.sends()) {
                    messages.send(flow, c, b);
                }
            }
        }
        flow.taskwait();
        messages.end();
        over.release();
    });
    over.acquire();
    flow.taskwait();
}

} // namespace streaming
