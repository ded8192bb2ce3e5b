// SPDX-License-Identifier: BSD-3-Clause
// Tasks with data dependences (thence/dataflow.hpp), the same as those of omp-tasks: one per zone and step, and one per
// zone and exchange. The latter starts the messages; it is complete when they are. Its priority is the highest, and
// steps of zones that have messages come before others, so that messages leave early. How a task is coupled to its
// messages is a parameter: solve_tampi.cpp and solve_dataflow.cpp give it.
#pragma once

#include "run.hpp"

#include "common/check.hpp"

#include <algorithm>
#include <semaphore>
#include <thence/dataflow.hpp>
#include <thence/thence.h>

namespace bt_mz {

using apps::check;

// `Messages` has couple(count, requests), which a task calls with the messages that it has started.
template <class Messages> class FlowSolver {
public:
    explicit FlowSolver(Run &r) : run(r), flow({.workers = r.threads}) {}

    // A task creates all others, so that only the workers run tasks: this thread sleeps.
    void solve() {
        flow.submit({}, [this] {
            for (auto &z : run.zones) {
                flow.submit({thence::in(&z->zone), thence::out(z->out[0])}, [&z] { Run::copy_out(*z, 0); });
                messages(*z, 0);
            }
            for (int t = 0; t < run.steps; ++t) {
                for (auto &z : run.zones) {
                    step(*z, t);
                    messages(*z, t + 1);
                }
            }
            flow.taskwait();
            over.release();
        });
        over.acquire();
        flow.taskwait();
    }

private:
    // What the faces of a side depend on: the neighbour's, or the messages.
    static thence::access faces(const LocalZone &z, Side side, int t) {
        return thence::in(z.local[side] != nullptr ? z.local[side]->out[t % 2] : z.in[t % 2]);
    }

    void step(LocalZone &z, int t) {
        flow.submit({faces(z, west, t), faces(z, east, t), faces(z, south, t), faces(z, north, t),
                     thence::inout(&z.zone), thence::out(z.out[(t + 1) % 2])},
                    {.priority = z.has_remote ? 1 : 0, .label = "step"}, [this, &z, t] {
                        run.copy_in(z, t);
                        for (const Part part : parts) {
                            share(z, part, t);
                            thence_progress(); // so that messages need not wait for the helper thread
                        }
                        Run::copy_out(z, t + 1);
                        run.done(z, t);
                    });
    }

    // Computes a part by as many tasks as there are workers.
    void share(LocalZone &z, Part part, int t) {
        const int first = Run::first(part), count = Run::last(part, z) - first;
        const int pieces = std::min(run.threads, count);
        for (int p = 1; p < pieces; ++p) {
            flow.submit({}, {.label = "part"}, [this, &z, part, t, first, count, p, pieces] {
                run.compute(z, part, t, first + count * p / pieces, first + count * (p + 1) / pieces);
            });
        }
        run.compute(z, part, t, first, first + count / pieces);
        if (pieces > 1) {
            flow.taskwait();
        }
    }

    void messages(LocalZone &z, int t) {
        if (!z.has_remote || t == run.steps) {
            return;
        }
        flow.submit({thence::in(z.out[t % 2]), thence::out(z.in[t % 2])}, {.priority = 2, .label = "messages"},
                    [this, &z, t] {
                        MPI_Request requests[2 * sides];
                        const int count = run.start_messages(z, t, requests);
                        coupling.couple(count, requests);
                    });
    }

    Run &run;
    Messages coupling;
    std::binary_semaphore over{0};
    thence::flow flow;
};

} // namespace bt_mz
