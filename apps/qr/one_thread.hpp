// SPDX-License-Identifier: BSD-3-Clause
// The variants on one thread, which also run on simulated ranks: what is ready is computed, and the engine polled after
// each task. The tasks and the messages of this rank are one graph, in the order of the sequence: an item waits for the
// item that wrote a block last, and a writer also for those that have read it since.
#pragma once

#include "run.hpp"

#include <deque>
#include <thence/backoff.h>
#include <vector>

namespace qr {

class LocalGraph {
public:
    explicit LocalGraph(const Run &run);

    // A task of the sequence (`transfer` is -1), or one end of a transfer.
    struct Item {
        int task = -1, transfer = -1;
        bool urgent = false; // a panel or a message: others wait for it
        int waits_for = 0;
        std::vector<int> next{};
    };
    const Item &item(int number) const { return items_[static_cast<std::size_t>(number)]; }
    int item_of_transfer(int transfer) const { return of_transfer_[static_cast<std::size_t>(transfer)]; }
    bool finished() const { return left_ == 0; }
    // An item that may run, which is then no longer ready; -1: none.
    int take();
    void finish(int item);

private:
    struct Access {
        int writer = -1;
        std::vector<int> readers{};
    };
    int add(Item item);
    void uses(int item, Access &access, bool writes);
    void follows(int item, int before);
    void make_ready(int item);

    std::vector<Item> items_;
    std::vector<int> of_transfer_;
    std::deque<int> urgent_, ready_;
    int left_ = 0;
};

template <class Engine> void run_on_one_thread(Run &run, Engine &engine) {
    LocalGraph graph(run);
    run.ended = [&graph](int transfer) { graph.finish(graph.item_of_transfer(transfer)); };
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    backoff.longest = 20000; // nanoseconds, for ranks that share a processor
    while (!graph.finished()) {
        const int next = graph.take();
        if (next >= 0) {
            const LocalGraph::Item &item = graph.item(next);
            if (item.transfer < 0) {
                run.compute(run.sequence.tasks[static_cast<std::size_t>(item.task)]);
                graph.finish(next);
            } else if (run.sequence.transfers[static_cast<std::size_t>(item.transfer)].from == run.rank) {
                engine.send(item.transfer);
            } else {
                engine.receive(item.transfer);
            }
            if (apps::simulated && item.transfer >= 0) {
                // No time has passed: a rank that only polls at one simulated time would be taken for one that waits.
                continue;
            }
        }
        const bool found = engine.poll();
        if (found || next >= 0) {
            thence_backoff_found(&backoff);
        } else if (apps::simulated) {
            apps::pass(poll_cost);
        } else {
            thence_backoff_pause(&backoff);
        }
    }
}

} // namespace qr
