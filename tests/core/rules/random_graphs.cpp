// SPDX-License-Identifier: BSD-3-Clause
// Random graphs of operations give what MPI_Waitall would: groups, continuation requests continued through others,
// callbacks that post the next operations, errors, completed in random order. Each graph has a model
// with the expected statuses and order. The seed is printed.
//
// usage: random_graphs [--graphs=N] [--seed=N] [GoogleTest options]
#include "library.hpp"
#include "random_choices.hpp"

#include <cstdio>
#include <memory>
#include <random>

namespace {

using namespace thence::fake;

int graphs = 300; // per variant

// What will happen to one operation, decided when it is posted.
struct planned {
    ticket operation;
    result how;
};

struct node;

struct graph {
    explicit graph(unsigned number) : random(number) {}

    std::mt19937 random;
    std::vector<std::unique_ptr<cr>> crs;
    std::vector<std::unique_ptr<node>> nodes;
    std::vector<planned> open;
    int budget = 40; // nodes
    int settled = 0;

    int dice(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
    void post(int depth);
    bool complete_one();
};

// One continuation: its operations and their expected results.
struct node {
    graph *g = nullptr;
    int depth = 0;
    int cr = 0;
    std::vector<MPI_Request> requests;
    std::vector<result> expected;         // of each request; bytes == -1: an empty status
    std::vector<const node *> runs_after; // registered with a CR among the requests when this one was attached
    std::vector<MPI_Status> statuses;
    int ends = 0;

    static int callback(int error, MPI_Status *statuses, void *data) {
        node &n = *static_cast<node *>(data);
        EXPECT_EQ(statuses, n.statuses.data());
        n.settle(error);
        return MPI_SUCCESS;
    }

    // As after MPI_Waitall: every status is that of its operation, the error is the first.
    void settle(int error) {
        ++ends;
        ++g->settled;
        int first = MPI_SUCCESS;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const MPI_Status &s = statuses[i];
            const result &e = expected[i];
            if (e.bytes == -1) {
                EXPECT_EQ(s.MPI_SOURCE, MPI_ANY_SOURCE);
                EXPECT_EQ(s.MPI_ERROR, MPI_SUCCESS);
                continue;
            }
            EXPECT_EQ(s.MPI_SOURCE, e.source);
            EXPECT_EQ(s.MPI_TAG, e.tag);
            EXPECT_EQ(s.MPI_ERROR, e.error);
            EXPECT_EQ(mpi::bytes_of(s), e.bytes);
            first = first == MPI_SUCCESS ? e.error : first;
        }
        EXPECT_EQ(error, first);
        for (const node *before : runs_after) {
            EXPECT_EQ(before->ends, 1) << "a CR was complete before its continuations";
        }
        if (g->budget > 0) {
            for (int more = g->dice(3); more > 0; --more) {
                g->post(depth + 1);
            }
        }
    }
};

void graph::post(int depth) {
    if (budget-- <= 0) {
        return;
    }
    nodes.push_back(std::make_unique<node>());
    node &n = *nodes.back();
    n.g = this;
    n.depth = depth;
    n.cr = dice(static_cast<int>(crs.size()));
    const int count = dice(3) == 0 ? dice(6) : 1;
    for (int i = 0; i < count; ++i) {
        const int sort = dice(12);
        if (sort == 0) {
            n.requests.push_back(MPI_REQUEST_NULL);
            n.expected.push_back({0, 0, -1});
        } else if (sort == 1 && n.cr > 0) { // only on lower ones, so that there is no cycle
            const int lower = dice(n.cr);
            n.requests.push_back(*crs[static_cast<std::size_t>(lower)]);
            n.expected.push_back({0, 0, -1});
            for (const auto &other : nodes) {
                if (other->cr == lower && other.get() != &n) {
                    n.runs_after.push_back(other.get());
                }
            }
        } else {
            const int error = dice(10) == 0 ? MPI_ERR_TRUNCATE : dice(10) == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
            const result how{dice(1000), dice(1000), dice(1000), error, false};
            n.requests.push_back(world.start(dice(5) == 0 ? kind::collective : kind::point_to_point));
            n.expected.push_back(how);
            const ticket t = world.ticket_of(n.requests.back());
            if (dice(5) == 0) {
                world.complete(t, how); // complete before the attach
            } else {
                open.push_back({t, how});
            }
        }
    }
    n.statuses.resize(static_cast<std::size_t>(count) + 1);
    int flag = -1;
    const int code = thence_attach(count, n.requests.data(), &node::callback, &n, 0, n.statuses.data(),
                                   *crs[static_cast<std::size_t>(n.cr)], &flag);
    if (flag == 1) {
        int first = MPI_SUCCESS;
        for (const result &e : n.expected) {
            first = first == MPI_SUCCESS && e.bytes != -1 ? e.error : first;
        }
        EXPECT_EQ(code, first == MPI_SUCCESS ? MPI_SUCCESS : count == 1 ? first : int{MPI_ERR_IN_STATUS});
        n.settle(first);
    } else {
        EXPECT_EQ(code, MPI_SUCCESS);
    }
}

bool graph::complete_one() {
    if (open.empty()) {
        return false;
    }
    std::swap(open[static_cast<std::size_t>(dice(static_cast<int>(open.size())))], open.back());
    const planned p = open.back();
    open.pop_back();
    EXPECT_TRUE(world.complete(p.operation, p.how));
    return true;
}

class random_graphs : public on_fake {};

TEST_P(random_graphs, give_what_waitall_gives) {
    int continuations = 0;
    for (int i = 0; i < graphs && !HasFailure(); ++i) {
        const unsigned number = seed + static_cast<unsigned>(i);
        SCOPED_TRACE("repeat with --graphs=1 --seed=" + std::to_string(number));
        graph g(number);
        const unsigned flags[] = {0, 0, THENCE_CR_POLL_ONLY};
        for (int c = 1 + g.dice(4); c > 0; --c) {
            g.crs.push_back(std::make_unique<cr>(flags[g.dice(3)], g.dice(4) == 0 ? 2 : -1));
        }
        for (int roots = 1 + g.dice(5); roots > 0; --roots) {
            g.post(0);
        }
        // All that can happen, in random order.
        for (int idle = 0; idle < 200;) {
            bool moved = g.dice(3) != 0 && g.complete_one();
            const int before = g.settled;
            switch (g.dice(3)) {
            case 0:
                let_run();
                break;
            case 1:
                world.progress();
                break;
            default:
                g.crs[static_cast<std::size_t>(g.dice(static_cast<int>(g.crs.size())))]->test();
            }
            moved = moved || g.settled != before || !g.open.empty();
            idle = moved ? 0 : idle + 1;
        }
        for (const auto &c : g.crs) {
            EXPECT_TRUE(c->test());
        }
        for (const auto &n : g.nodes) {
            EXPECT_EQ(n->ends, 1);
        }
        continuations += g.settled;
        reported();
    }
    std::printf("%d graphs from seed %u, %d continuations\n", graphs, seed, continuations);
}

THENCE_RULES(random_graphs);

} // namespace

int main(int argc, char **argv) {
    return run_from_seed(argc, argv, "--graphs=%d", graphs,
                         "usage: random_graphs [--graphs=N] [--seed=N] [GoogleTest options]\n"
                         "N random graphs (300) on each engine, the first from this seed.\n");
}
