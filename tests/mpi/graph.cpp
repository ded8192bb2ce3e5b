// SPDX-License-Identifier: BSD-3-Clause
// Property: a random graph of dependent messages gives the same values with continuations as with MPI_Waitall.
//
// The graph has layers; in each layer every rank has some cells. The value of a cell is computed from the values of
// random cells of the layer before, on any rank. With MPI_Waitall the layers run one after the other;
// with continuations a cell sends its value to its readers as soon as its own inputs have arrived, so layers overlap.
#include "support.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>

namespace {

constexpr int layers = 12;
constexpr int cells = 5; // per rank and layer

struct edge {
    int from_rank, from_cell, to_rank, to_cell, n; // n: how often the value is repeated in the message
};

struct plan {
    std::vector<std::vector<edge>> edges; // of layer i to i + 1

    plan(unsigned seed, int ranks) : edges(layers - 1) {
        std::mt19937 random(seed);
        const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
        const int sizes[] = {1, 1, 3, 500, 600, 40000}; // the last is a rendezvous message
        for (auto &layer : edges) {
            for (int rank = 0; rank < ranks; ++rank) {
                for (int cell = 0; cell < cells; ++cell) {
                    for (int inputs = below(4); inputs > 0; --inputs) {
                        layer.push_back({below(ranks), below(cells), rank, cell, sizes[below(6)]});
                    }
                }
            }
        }
    }
    static int tag(int layer, std::size_t edge) { return layer * 500 + static_cast<int>(edge); }
};

using value = std::uint32_t;
value start_value(int rank, int cell) {
    return static_cast<value>(1 + 17 * rank + cell);
}
value combine(value sum, value input, int edge) {
    return sum * 31U + (input ^ static_cast<value>(edge)) * 2654435761U;
}

// One cell of one layer on this rank, with the messages it waits for and the ones it sends.
struct node {
    int layer = 0, cell = 0;
    std::vector<std::size_t> inputs, outputs; // indices of edges
    std::vector<std::vector<value>> in, out;
    std::vector<MPI_Request> receives;
    std::vector<MPI_Status> statuses;
    value result = 0;
    std::atomic<int> runs{0};
};

class graph : public mpi_test {
protected:
    std::vector<std::vector<node>> nodes;
    std::atomic<int> faults{0};

    void build(const plan &p) {
        nodes.clear();
        for (int layer = 0; layer < layers; ++layer) {
            std::vector<node> row(cells);
            for (int cell = 0; cell < cells; ++cell) {
                node &one = row[static_cast<std::size_t>(cell)];
                one.layer = layer;
                one.cell = cell;
                if (layer > 0) {
                    collect(p, layer - 1, one.inputs, one.in,
                            [&](const edge &e) { return e.to_rank == rank && e.to_cell == cell; });
                }
                if (layer < layers - 1) {
                    collect(p, layer, one.outputs, one.out,
                            [&](const edge &e) { return e.from_rank == rank && e.from_cell == cell; });
                }
                one.receives.resize(one.inputs.size());
                one.statuses.resize(one.inputs.size());
            }
            nodes.push_back(std::move(row));
        }
    }
    template <class Match>
    static void collect(const plan &p, int layer, std::vector<std::size_t> &edges,
                        std::vector<std::vector<value>> &data, Match match) {
        const auto &all = p.edges[static_cast<std::size_t>(layer)];
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (match(all[i])) {
                edges.push_back(i);
                data.emplace_back(static_cast<std::size_t>(all[i].n), 0);
            }
        }
    }
    void receive(const plan &p, node &one) {
        for (std::size_t i = 0; i < one.inputs.size(); ++i) {
            const edge &e = p.edges[static_cast<std::size_t>(one.layer - 1)][one.inputs[i]];
            MPI_Irecv(one.in[i].data(), e.n, MPI_UINT32_T, e.from_rank, plan::tag(one.layer - 1, one.inputs[i]), comm,
                      &one.receives[i]);
        }
    }
    void compute(node &one) {
        one.result = start_value(rank, one.cell);
        for (std::size_t i = 0; i < one.inputs.size(); ++i) {
            if (one.in[i].front() != one.in[i].back()) {
                ++faults;
            }
            one.result = combine(one.result, one.in[i].back(), static_cast<int>(one.inputs[i]));
        }
        for (auto &message : one.out) {
            std::fill(message.begin(), message.end(), one.result);
        }
    }
    std::vector<MPI_Request> send(const plan &p, node &one) {
        std::vector<MPI_Request> sends(one.outputs.size());
        for (std::size_t i = 0; i < one.outputs.size(); ++i) {
            const edge &e = p.edges[static_cast<std::size_t>(one.layer)][one.outputs[i]];
            MPI_Isend(one.out[i].data(), e.n, MPI_UINT32_T, e.to_rank, plan::tag(one.layer, one.outputs[i]), comm,
                      &sends[i]);
        }
        return sends;
    }
    std::vector<value> results() const {
        std::vector<value> all;
        for (const auto &row : nodes) {
            for (const node &one : row) {
                all.push_back(one.result);
            }
        }
        return all;
    }

    std::vector<value> by_waitall(const plan &p) {
        build(p);
        for (auto &row : nodes) {
            std::vector<MPI_Request> sends;
            for (node &one : row) {
                receive(p, one);
            }
            for (node &one : row) {
                MPI_Waitall(static_cast<int>(one.receives.size()), one.receives.data(), MPI_STATUSES_IGNORE);
                compute(one);
            }
            for (node &one : row) {
                const auto more = send(p, one);
                pending_.insert(pending_.end(), more.begin(), more.end());
            }
        }
        MPI_Waitall(static_cast<int>(pending_.size()), pending_.data(), MPI_STATUSES_IGNORE);
        pending_.clear();
        return results();
    }

    struct task {
        graph *self;
        const plan *p;
        node *one;
    };
    static int run(int error, MPI_Status *, void *data) {
        auto &[self, p, one] = *static_cast<task *>(data);
        self->faults += error == MPI_SUCCESS ? 0 : 1;
        ++one->runs;
        for (std::size_t i = 0; i < one->inputs.size(); ++i) {
            int n = -1;
            MPI_Get_count(&one->statuses[i], MPI_UINT32_T, &n);
            if (n != static_cast<int>(one->in[i].size())) {
                ++self->faults;
            }
        }
        self->compute(*one);
        for (MPI_Request sent : self->send(*p, *one)) {
            thence_attach(
                1, &sent, [](int, MPI_Status *, void *) -> int { return MPI_SUCCESS; }, nullptr, THENCE_MAY_RUN,
                MPI_STATUS_IGNORE, self->cr, nullptr);
        }
        return MPI_SUCCESS;
    }
    std::vector<value> by_continuations(const plan &p, bool later_layers_first) {
        build(p);
        std::vector<std::unique_ptr<task>> tasks;
        for (int i = 0; i < layers; ++i) {
            const int layer = later_layers_first ? layers - 1 - i : i;
            for (node &one : nodes[static_cast<std::size_t>(layer)]) {
                tasks.push_back(std::make_unique<task>(task{this, &p, &one}));
                receive(p, one);
                int flag = 0;
                thence_attach(static_cast<int>(one.receives.size()), one.receives.data(), &run, tasks.back().get(), 0,
                              one.statuses.data(), cr, &flag);
                if (flag != 0) {
                    run(MPI_SUCCESS, nullptr, tasks.back().get());
                }
            }
        }
        EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&cr, MPI_STATUS_IGNORE));
        for (const auto &row : nodes) {
            for (const node &one : row) {
                EXPECT_EQ(1, one.runs.load());
            }
        }
        return results();
    }

private:
    std::vector<MPI_Request> pending_;
};

TEST_F(graph, of_random_messages_gives_what_waitall_gives) {
    for (unsigned seed = 1; seed <= 6; ++seed) {
        const plan p(seed, size);
        const auto expected = by_waitall(p);
        EXPECT_EQ(expected, by_continuations(p, false)) << "seed " << seed;
        EXPECT_EQ(expected, by_continuations(p, true)) << "seed " << seed;
        EXPECT_EQ(0, faults.load());
    }
}

} // namespace
