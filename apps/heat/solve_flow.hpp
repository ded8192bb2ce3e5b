// SPDX-License-Identifier: BSD-3-Clause
// The heat equation by tasks with data dependences (thence/dataflow.hpp): one task per block and iteration. How a task
// exchanges messages is a parameter: solve_tampi.cpp and solve_dataflow.cpp give it.
#pragma once

#include "halo.hpp"

#include "common/check.hpp"

#include <semaphore>
#include <thence/dataflow.hpp>

namespace heat {

using apps::check;

// Where the call that starts a receive stands.
enum class Receiving { in_own_task, in_onready };

// The operations of one column of blocks, one for each direction. The dependences allow one at a time in each.
struct Column {
    Flight received[2], sent[2];
};

// `Messages` is how a task waits for its message: `blocking` if it calls MPI_Send and MPI_Recv, `receiving`, and
// bind(), which binds a started operation to the calling task. If it has start(), messages are not those of Halo:
// start() begins one, and binds it.
template <class Messages> class FlowSolver {
public:
    explicit FlowSolver(Run &r)
        : run(r), halo(r), rows(r.block_rows()), cols(r.block_cols()),
          keys(static_cast<std::size_t>(rows + 2) * static_cast<std::size_t>(cols + 2)),
          columns(static_cast<std::size_t>(cols)), flow({.workers = r.threads}) {}

    // A task creates all others, so that only the workers run tasks: this thread sleeps.
    void solve() {
        flow.submit({}, [this] {
            for (int t = 0; t < run.iterations; ++t) {
                create(t);
            }
            flow.taskwait();
            for (int k = 0; k < cols && halo.sends(Direction::down) && !Messages::blocking; ++k) {
                halo.complete(column(k).sent[at(Direction::down)]); // no block of this rank comes after it
            }
            over.release();
        });
        over.acquire();
        flow.taskwait();
    }

private:
    // The address that stands for block (i, k) in dependences; rows -1 and `rows` stand for the halo.
    const char *key(int i, int k) const {
        return &keys[static_cast<std::size_t>(i + 1) * static_cast<std::size_t>(cols + 2) +
                     static_cast<std::size_t>(k + 1)];
    }
    Column &column(int k) { return columns[static_cast<std::size_t>(k)]; }
    static std::size_t at(Direction d) { return d == Direction::down ? 0 : 1; }

    void create(int t) {
        for (int k = 0; k < cols && Messages::receiving == Receiving::in_own_task; ++k) {
            if (t > 0 && halo.receives(Direction::up)) {
                flow.submit({thence::out(key(rows, k))}, {.priority = 2, .label = "receive"},
                            [this, t, k] { receive(Direction::up, t - 1, k); });
            }
            if (halo.receives(Direction::down)) {
                flow.submit({thence::out(key(-1, k))}, {.priority = 2, .label = "receive"},
                            [this, t, k] { receive(Direction::down, t, k); });
            }
        }
        for (int i = 0; i < rows; ++i) {
            for (int k = 0; k < cols; ++k) {
                block(t, i, k);
            }
            for (int k = 0; k < cols && i == 0 && t + 1 < run.iterations; ++k) {
                send_after(Direction::up, t, k, key(0, k));
            }
        }
        for (int k = 0; k < cols; ++k) {
            send_after(Direction::down, t, k, key(rows - 1, k));
        }
    }

    void block(int t, int i, int k) {
        const auto accesses = {thence::in(key(i - 1, k)), thence::in(key(i, k - 1)), thence::in(key(i, k + 1)),
                               thence::in(key(i + 1, k)), thence::inout(key(i, k))};
        const auto sweep = [this, t, i, k] {
            arrived(t, i, k);
            run.compute(t, i, k);
        };
        if constexpr (Messages::receiving == Receiving::in_onready) {
            flow.submit(accesses, {.priority = priority_of(i), .label = "block"}, thence::onready([this, t, i, k] {
                            if (needs(Direction::down, t, i)) {
                                receive(Direction::down, t, k);
                            }
                            if (needs(Direction::up, t, i)) {
                                receive(Direction::up, t - 1, k);
                            }
                        }),
                        sweep);
        } else {
            flow.submit(accesses, {.priority = priority_of(i), .label = "block"}, sweep);
        }
    }

    // Blocks whose cells other ranks need come before others.
    int priority_of(int i) const {
        return (i == 0 && halo.sends(Direction::up)) || (i == rows - 1 && halo.sends(Direction::down)) ? 1 : 0;
    }

    // Whether a block of row `i` uses a message of this direction.
    bool needs(Direction d, int t, int i) const {
        return halo.receives(d) && (d == Direction::down ? i == 0 : i == rows - 1 && t > 0);
    }

    // For the recorder: the messages that this block uses, and those that the block of the iteration before has sent.
    void arrived(int t, int i, int k) {
        if (Messages::blocking) {
            return; // the task of the message has recorded it
        }
        for (const Direction d : {Direction::down, Direction::up}) {
            if (needs(d, t, i)) {
                halo.complete(column(k).received[at(d)]);
            }
            if (t > 0 && halo.sends(d) && i == (d == Direction::down ? rows - 1 : 0)) {
                halo.complete(column(k).sent[at(d)]);
            }
        }
    }

    static constexpr bool own_messages = requires(Messages m, Run &r, const Message &message) { m.start(r, message); };

    void receive(Direction d, int t, int k) {
        if constexpr (own_messages) {
            begin(column(k).received[at(d)], halo.describe(false, d, t, k, run.col0(k), run.col1(k)));
        } else if constexpr (Messages::blocking) {
            Flight flight = halo.receive_blocking(d, t, k, run.col0(k), run.col1(k));
            halo.complete(flight);
        } else {
            Flight &flight = column(k).received[at(d)];
            flight = halo.receive(d, t, k, run.col0(k), run.col1(k));
            bind(flight.request);
        }
    }

    void send_after(Direction d, int t, int k, const char *edge) {
        if (!halo.sends(d)) {
            return;
        }
        flow.submit({thence::in(edge)}, {.priority = 2, .label = "send"}, [this, d, t, k] {
            if constexpr (own_messages) {
                begin(column(k).sent[at(d)], halo.describe(true, d, t, k, run.col0(k), run.col1(k)));
            } else if constexpr (Messages::blocking) {
                Flight flight = halo.send_blocking(d, t, k, run.col0(k), run.col1(k));
                halo.complete(flight);
            } else {
                Flight &flight = column(k).sent[at(d)];
                flight = halo.send(d, t, k, run.col0(k), run.col1(k));
                bind(flight.request);
            }
        });
    }

    void begin(Flight &flight, const Flight &described) {
        flight = described;
        const Timed timed(run.recorder, Activity::start, flight.message.iteration, -1, flight.message.col);
        messages.start(run, described.message);
    }

    // The task is complete, or ready if this is its onready function, when the operation is. The request is a copy,
    // since the flight may be used again before this call returns.
    void bind(MPI_Request request) {
        if constexpr (!Messages::blocking && !own_messages) {
            messages.bind(request);
        }
    }

    Run &run;
    Halo halo;
    const int rows, cols;
    std::vector<char> keys;
    std::vector<Column> columns;
    Messages messages;
    std::binary_semaphore over{0};
    thence::flow flow;
};

} // namespace heat
