// SPDX-License-Identifier: BSD-3-Clause
// The variants with tasks (thence/dataflow.hpp): each task of the sequence that runs here is one, and so is each end of
// a message. Blocks are named by their addresses. `Engine` moves the data: this thread is its communication thread, and
// workers poll it between their tasks. While they do, this thread leaves them the processors.
//
// A task that receives asks the sender for the data when its block may be written. A task that sends lets them go when
// its block is ready. Both count as complete when the data are there.
#pragma once

#include "run.hpp"

#include <atomic>
#include <chrono>
#include <thence/backoff.h>
#include <thence/dataflow.hpp>
#include <thread>
#include <vector>

namespace qr {

template <class Engine> void run_tasks(Run &run, Engine &engine) {
    const Sequence &s = run.sequence;
    std::atomic<bool> over{false}, workers_poll{false};
    std::vector<thence::task_ref> waiting(s.transfers.size()); // each is set before the engine is told of its transfer
    run.ended = [&waiting](int number) { thence::lower_events(waiting[static_cast<std::size_t>(number)]); };
    thence::flow flow({.workers = run.threads});
    // A task creates all others, so that only the workers run tasks.
    flow.submit({}, [&] {
        auto next = s.transfers.begin();
        for (int n = 0; n < static_cast<int>(s.tasks.size()); ++n) {
            for (; next != s.transfers.end() && next->before == n; ++next) {
                const int number = static_cast<int>(next - s.transfers.begin());
                double *const block = run.blocks.at(next->block);
                if (next->from == run.rank) {
                    flow.submit({thence::in(block)}, {.priority = 1, .label = "send"}, [&engine, &waiting, number] {
                        thence::raise_events(waiting[static_cast<std::size_t>(number)] = thence::current_task());
                        engine.send(number);
                    });
                } else if (next->to == run.rank) {
                    flow.submit({thence::out(block)}, {.priority = 1, .label = "receive"}, [&engine, &waiting, number] {
                        thence::raise_events(waiting[static_cast<std::size_t>(number)] = thence::current_task());
                        engine.receive(number);
                    });
                }
            }
            const Task &task = s.tasks[static_cast<std::size_t>(n)];
            if (task.rank != run.rank) {
                continue;
            }
            std::vector<thence::access> accesses;
            for (const Use &use : s.uses(task)) {
                double *const block = run.blocks.at(use.block);
                accesses.push_back(use.writes ? thence::inout(block) : thence::in(block));
            }
            // Panels are on the critical path.
            const bool is_panel = task.kind == Task::geqrt || task.kind == Task::tpqrt;
            flow.submit(accesses, {.priority = is_panel ? 1 : 0, .label = "compute"},
                        [&run, &engine, &task, &workers_poll] {
                            run.compute(task);
                            engine.poll();
                            workers_poll.store(true, std::memory_order_relaxed);
                        });
        }
        flow.taskwait();
        over.store(true);
    });
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    backoff.longest = 20000; // nanoseconds: data that are late stop the workers
    while (!over.load()) {
        if (engine.poll()) {
            thence_backoff_found(&backoff);
        } else if (workers_poll.exchange(false, std::memory_order_relaxed)) {
            std::this_thread::sleep_for(std::chrono::microseconds(300)); // about the time of a task
        } else {
            thence_backoff_pause(&backoff);
        }
    }
    flow.taskwait();
}

} // namespace qr
