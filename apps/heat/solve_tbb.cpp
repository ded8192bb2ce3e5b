// SPDX-License-Identifier: BSD-3-Clause
// A flow graph of oneTBB with one node per block and one asynchronous node per piece of a boundary row. A block runs
// once per iteration, when it has a token from each neighbour. An asynchronous node starts its operation when it gets a
// token, and the continuation of the operation passes a token on. Neighbours exchange tokens in both directions, so no
// edge ever holds two tokens.
#include "continuations.hpp"

#include <memory>
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <thence/backoff.h>
#include <tuple>

namespace heat {
namespace {

using Token = tbb::flow::continue_msg;
using Block = tbb::flow::continue_node<Token>;
using Async = tbb::flow::async_node<Token, Token>;
constexpr tbb::flow::node_priority_t high_priority = 1;
using Gate = tbb::flow::multifunction_node<Token, std::tuple<Token>>;

class FlowSolver {
public:
    explicit FlowSolver(Run &r)
        : run(r), halo(r), continuations(r), rows(r.block_rows()), cols(r.block_cols()),
          iteration(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols), 0),
          total(static_cast<long>(r.iterations) * rows * cols), finished(0) {
        for (int i = 0; i < rows; ++i) {
            for (int k = 0; k < cols; ++k) {
                blocks.push_back(std::make_unique<Block>(
                    graph, [this, i, k](Token) { sweep(i, k); }, high_priority));
            }
        }
        for (int i = 0; i < rows; ++i) {
            for (int k = 0; k < cols; ++k) {
                connect(i, k);
            }
        }
        for (const Direction d : {Direction::down, Direction::up}) {
            for (int k = 0; k < cols; ++k) {
                connect_messages(d, k);
            }
        }
        // Every block depends on block (0, 0) of the same iteration, so the gate at that block ends the whole graph.
        gate = std::make_unique<Gate>(graph, tbb::flow::serial, [this](Token, Gate::output_ports_type &out) {
            if (iteration[0] < run.iterations) {
                std::get<0>(out).try_put(Token());
            }
        });
        tbb::flow::make_edge(block(0, 0), *gate);
        tbb::flow::make_edge(tbb::flow::output_port<0>(*gate), block(0, 0));
        old_tokens.push_back(&block(0, 0));
    }

    void solve() {
        // The tokens that the first iteration would get from the previous one are put here.
        poll();
        for (Async *receive : first_receives) {
            receive->try_put(Token());
        }
        for (Block *b : old_tokens) {
            b->try_put(Token());
        }
        graph.wait_for_all();
        polling.wait();
    }

private:
    struct Piece {
        FlowSolver *solver;
        bool sent;
        Direction direction;
        int k, messages, next; // number of messages, iteration of the next one
        Flight flight;
        Async::gateway_type *gateway;
        std::unique_ptr<Async> node;
    };

    Block &block(int i, int k) { return *blocks[index(i, k)]; }
    std::size_t index(int i, int k) const {
        return static_cast<std::size_t>(i) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(k);
    }

    void sweep(int i, int k) {
        run.compute(iteration[index(i, k)]++, i, k);
        continuations.poll_if_due();
        ++finished;
    }

    // New values go right and down within an iteration; old values go left and up to the next iteration.
    void connect(int i, int k) {
        const auto both = [this](Block &before, Block &after) {
            tbb::flow::make_edge(before, after);
            tbb::flow::make_edge(after, before);
            old_tokens.push_back(&before);
        };
        if (k + 1 < cols) {
            both(block(i, k), block(i, k + 1));
        }
        if (i + 1 < rows) {
            both(block(i, k), block(i + 1, k));
        }
    }

    // A block at the edge of the band starts the operation after its sweep, and waits for it before its next sweep.
    void connect_messages(Direction d, int k) {
        const bool down = d == Direction::down;
        if (halo.sends(d)) {
            Block &edge = block(down ? rows - 1 : 0, k);
            tbb::flow::make_edge(edge, add(true, d, k));
            tbb::flow::make_edge(*pieces.back()->node, edge);
            old_tokens.push_back(&edge);
        }
        if (halo.receives(d)) {
            Block &edge = block(down ? 0 : rows - 1, k);
            tbb::flow::make_edge(edge, add(false, d, k));
            tbb::flow::make_edge(*pieces.back()->node, edge);
            if (down) {
                first_receives.push_back(pieces.back()->node.get());
            } else {
                old_tokens.push_back(&edge); // the first iteration uses the starting field
            }
        }
    }

    Async &add(bool sent, Direction d, int k) {
        // The last iteration sends nothing up, since no block would use it.
        const int messages = run.iterations - (d == Direction::up ? 1 : 0);
        total += messages;
        pieces.push_back(std::make_unique<Piece>(Piece{this, sent, d, k, messages, 0, {}, nullptr, nullptr}));
        Piece &p = *pieces.back();
        p.node = std::make_unique<Async>(
            graph, tbb::flow::unlimited, [&p](Token, Async::gateway_type &gateway) { p.solver->begin(p, gateway); },
            high_priority);
        return *p.node;
    }

    void begin(Piece &p, Async::gateway_type &gateway) {
        const int t = p.next++;
        if (t >= p.messages) {
            return;
        }
        const int c0 = run.col0(p.k), c1 = run.col1(p.k);
        p.flight = p.sent ? halo.send(p.direction, t, p.k, c0, c1) : halo.receive(p.direction, t, p.k, c0, c1);
        p.gateway = &gateway;
        gateway.reserve_wait();
        if (continuations.attach(p.flight, complete, &p)) {
            complete(MPI_SUCCESS, nullptr, &p);
        }
    }

    static int complete(int error, MPI_Status *, void *data) {
        check(error);
        auto &p = *static_cast<Piece *>(data);
        FlowSolver &self = *p.solver;
        Async::gateway_type &gateway = *p.gateway;
        self.halo.complete(p.flight);
        gateway.try_put(Token()); // from here on another iteration may use the piece
        ++self.finished;          // before release_wait(), since the solver may be destroyed after that
        gateway.release_wait();
        return MPI_SUCCESS;
    }

    // A task that polls and creates its successor. There is always such a task, so its thread would never steal. The
    // nodes of the graph have a priority: oneTBB then puts their tasks into a queue that every thread checks before its
    // own.
    void poll() {
        polling.run([this] {
            const long before = finished;
            continuations.progress();
            if (finished == before) {
                thence_backoff_pause(&backoff);
            } else {
                thence_backoff_found(&backoff);
            }
            if (before < total) {
                poll();
            }
        });
    }

    Run &run;
    Halo halo;
    Continuations continuations;
    const int rows, cols;
    tbb::flow::graph graph;
    std::vector<std::unique_ptr<Block>> blocks;
    std::vector<std::unique_ptr<Piece>> pieces;
    std::unique_ptr<Gate> gate;
    std::vector<int> iteration; // of each block; only its node accesses it
    std::vector<Block *> old_tokens;
    std::vector<Async *> first_receives;
    tbb::task_group polling;
    long total; // sweeps and messages
    std::atomic<long> finished;
    thence_backoff backoff = THENCE_BACKOFF_INIT; // of the polling task
};

} // namespace

void solve_tbb(Run &run) {
    const tbb::global_control threads(tbb::global_control::max_allowed_parallelism,
                                      static_cast<std::size_t>(run.threads));
    tbb::task_arena arena(run.threads);
    arena.execute([&] { FlowSolver(run).solve(); });
}

} // namespace heat
