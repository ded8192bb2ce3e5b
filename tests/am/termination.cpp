// SPDX-License-Identifier: BSD-3-Clause
// Quiescence is found when nothing is left, and not before: random graphs of messages, put and get against a count of
// what must be handled.
#include "fake_network.hpp"
#include "sleeps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace {

using namespace thence::am;
using fake::engines;

// Each message says how many follow from it.
struct graph {
    engines *all = nullptr;
    std::mt19937 random;
    long begun = 0;
    long handled = 0;
    struct note {
        graph *of;
        int rank;
        int depth;
    };
    long tasks = 0; // of handlers, that will still send
    std::vector<std::vector<char>> memory;
    std::vector<thence_am_memory> names;

    int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
    void begin(int from, int depth) {
        const int to = below(all->size());
        ++begun;
        const int kind = below(8);
        if (kind == 0) { // a put that calls the handler
            transfer *const t = make_transfer(sizeof depth);
            std::memcpy(t->payload(), &depth, sizeof depth);
            t->rank = to;
            t->number = below(2);
            t->data = memory[static_cast<std::size_t>(from)].data();
            t->bytes = 1;
            (*all)[from].put(*t, names[static_cast<std::size_t>(to)], 1);
        } else if (kind == 1) {
            transfer *const t = make_transfer(0);
            t->rank = to;
            t->data = memory[static_cast<std::size_t>(from)].data();
            t->bytes = 1;
            t->done = [](int, void *data) { ++static_cast<graph *>(data)->handled; };
            t->done_data = this;
            (*all)[from].get(*t, names[static_cast<std::size_t>(to)], 1);
        } else if (kind == 2) { // one that tells when it has left, which sends others
            ++begun;
            bool sent = true;
            auto *const told = new departure_callback(&has_left, new note{this, from, depth});
            EXPECT_EQ((*all)[from].send(to, below(2), {&depth, sizeof depth}, when_full::queue, told, sent),
                      MPI_SUCCESS);
        } else {
            all->send(from, to, below(2), {&depth, sizeof depth});
        }
    }
    static void has_left(int, void *data) {
        const std::unique_ptr<note> told(static_cast<note *>(data));
        graph &g = *told->of;
        ++g.handled;
        if (told->depth > 0 && g.below(2) == 0) {
            g.begin(told->rank, told->depth - 1);
        }
    }
    static int handle(const thence_am_message *m, void *data) {
        graph &g = *static_cast<graph *>(data);
        ++g.handled;
        int depth = 0;
        std::memcpy(&depth, m->payload, sizeof depth);
        message_engine &here = *reinterpret_cast<message_engine *>(m->am);
        const int rank = here.processes().rank();
        for (int i = depth > 0 ? g.below(4) : 0; i > 0; --i) {
            g.begin(rank, depth - 1);
        }
        if (depth > 0 && g.below(8) == 0) { // a task that sends later
            here.hold();
            ++g.tasks;
            g.waiting.push_back({rank, depth - 1});
        }
        return MPI_SUCCESS;
    }
    struct task {
        int rank;
        int depth;
    };
    std::vector<task> waiting;
    void run_a_task() {
        if (!waiting.empty() && below(4) == 0) {
            const task t = waiting.back();
            waiting.pop_back();
            begin(t.rank, t.depth);
            EXPECT_TRUE((*all)[t.rank].release());
        }
    }
};

void check_graphs(int ranks, int graphs, int depth, unsigned seed) {
    engines all(ranks, {}, seed);
    graph g;
    g.all = &all;
    g.random.seed(seed);
    g.memory.assign(static_cast<std::size_t>(ranks), std::vector<char>(2));
    for (int i = 0; i < ranks; ++i) {
        std::uint64_t key = 0;
        ASSERT_TRUE(all[i].memory().add(g.memory[static_cast<std::size_t>(i)].data(), 2, key));
        g.names.push_back({2, key, i, 0});
    }
    all.add(0, &graph::handle, &g);
    all.add(1, &graph::handle, &g, THENCE_AM_SHORT);
    for (int i = 0; i < graphs; ++i) {
        all.network.sends_complete_at_once = i % 2 != 0;
        for (int first = g.below(3); first >= 0; --first) {
            g.begin(g.below(ranks), depth);
        }
        const std::vector<int> codes = all.quiesce([&] { g.run_a_task(); });
        ASSERT_EQ(codes, std::vector<int>(static_cast<std::size_t>(ranks), MPI_SUCCESS));
        ASSERT_EQ(g.handled, g.begun) << "graph " << i << " of seed " << seed;
        ASSERT_TRUE(g.waiting.empty());
    }
    std::uint64_t sent = 0;
    std::uint64_t handled = 0;
    for (int i = 0; i < ranks; ++i) {
        thence_am_info info{};
        all[i].query(info);
        sent += info.sent;
        handled += info.handled;
        EXPECT_EQ(info.outgoing, 0U);
        EXPECT_EQ(info.queued, 0U);
    }
    EXPECT_EQ(sent, handled);
    EXPECT_TRUE(all.failures.empty());
}

TEST(quiescence, is_found_when_nothing_is_left_small_graphs) {
    check_graphs(2, 40000, 2, 1);
}
TEST(quiescence, is_found_when_nothing_is_left_three_processes) {
    check_graphs(3, 40000, 3, 2);
}
TEST(quiescence, is_found_when_nothing_is_left_many_processes) {
    check_graphs(7, 15000, 4, 3);
}
TEST(quiescence, is_found_when_nothing_is_left_large_graphs) {
    check_graphs(4, 5000, 7, 4);
}

// Waves alone, as in termination.hpp: processes give their counts at any time.
TEST(quiescence, one_wave_is_not_enough) {
    termination t;
    EXPECT_FALSE(
        t.wave({5, 5})); // a message may have been handled before, and another sent after its process was asked
    EXPECT_TRUE(t.wave({5, 5}));
    t.restart();
    EXPECT_FALSE(t.wave({5, 5}));
    EXPECT_FALSE(t.wave({6, 5}));
    EXPECT_FALSE(t.wave({6, 6}));
    EXPECT_TRUE(t.wave({6, 6}));
}

TEST(quiescence, waits_for_what_is_held) {
    engines all(2);
    all[1].hold();
    bool released = false;
    int rounds = 0;
    all.quiesce([&] {
        if (++rounds == 200) {
            released = true;
            EXPECT_TRUE(all[1].release());
        }
    });
    EXPECT_TRUE(released);
    EXPECT_FALSE(all[1].release()); // nothing is held
}

// Process 0 knows first that all is quiet. What it sends then arrives while process 1 has not looked at the wave yet.
TEST(quiescence, loses_no_message_of_the_next_phase) {
    for (unsigned seed = 1; seed <= 300; ++seed) {
        engines all(2, {}, seed);
        struct phase {
            engines *of;
            int rank;
            int handled = 0;
            int told = 0;
        } each[2] = {{&all, 0}, {&all, 1}};
        for (phase &p : each) {
            all[p.rank].quiesce_then(
                [](int, void *data) {
                    phase &of = *static_cast<phase *>(data);
                    ++of.told;
                    (*of.of)[of.rank].handlers().add(5, {[](const thence_am_message *, void *handled) -> int {
                                                             ++*static_cast<int *>(handled);
                                                             return MPI_SUCCESS;
                                                         },
                                                         &of.handled, 0});
                    of.of->send(of.rank, 1 - of.rank, 5);
                },
                &p);
        }
        while (each[0].told + each[1].told < 2) {
            all.run_once();
        }
        EXPECT_EQ(all.quiesce(), std::vector<int>(2, MPI_SUCCESS)) << "seed " << seed;
        EXPECT_EQ(each[0].handled, 1) << "seed " << seed;
        EXPECT_EQ(each[1].handled, 1) << "seed " << seed;
    }
}

// A coroutine goes on where the end is told, and may wait there for the next.
TEST(quiescence, who_is_told_may_wait) {
    engines all(2);
    struct told {
        engines *of;
        int handled = 0;
        bool has_waited = false;
    } result{&all};
    all.add(
        0,
        [](const thence_am_message *m, void *data) -> int {
            EXPECT_TRUE(reinterpret_cast<message_engine *>(m->am)->must_not_wait());
            ++*static_cast<int *>(data);
            return MPI_SUCCESS;
        },
        &result.handled);
    bool other = false;
    all[0].quiesce_then(
        [](int, void *data) {
            auto &t = *static_cast<told *>(data);
            engines &e = *t.of;
            EXPECT_FALSE(e[0].must_not_wait());
            e.send(1, 0, 0);
            for (int i = 0; i < 1000 && t.handled == 0; ++i) {
                e.run_once();
            }
            t.has_waited = true;
        },
        &result);
    all[1].quiesce_then([](int, void *data) { *static_cast<bool *>(data) = true; }, &other);
    while (!result.has_waited || !other) {
        all.run_once();
    }
    EXPECT_EQ(result.handled, 1);
}

// A message that was held runs in no continuation, but is handled like any other.
TEST(quiescence, and_other_waits_are_refused_in_handlers_of_held_messages) {
    engines all(2);
    bool has_refused = false;
    const auto handler = [](const thence_am_message *m, void *data) -> int {
        *static_cast<bool *>(data) = reinterpret_cast<message_engine *>(m->am)->must_not_wait();
        return static_cast<int>(MPI_SUCCESS);
    };
    all[0].handlers().add(9, {handler, &has_refused, 0});
    all.send(0, 1, 9);
    for (int i = 0; i < 100; ++i) {
        all.run_once();
    }
    all[1].handlers().add(9, {handler, &has_refused, 0});
    all.quiesce();
    EXPECT_TRUE(has_refused);
}

// Each way to send returns the error of its engine, and counts nothing.
void expect_nothing_is_sent(engines &all, const std::vector<int> &codes) {
    long handled = 0;
    all.add(
        0,
        [](const thence_am_message *, void *data) -> int {
            ++*static_cast<long *>(data);
            return static_cast<int>(MPI_SUCCESS);
        },
        &handled);
    std::vector<char> memory(1);
    std::uint64_t key = 0;
    ASSERT_TRUE(all[0].memory().add(memory.data(), 1, key));
    const auto make = [&memory] {
        transfer *const t = make_transfer(0);
        t->data = memory.data();
        t->bytes = 1;
        t->done = [](int, void *) { ADD_FAILURE() << "told though an error was returned"; };
        return t;
    };
    for (int i = 0; i < all.size(); ++i) {
        const int error = codes[static_cast<std::size_t>(i)];
        thence_am_info before{};
        thence_am_info after{};
        all[i].query(before);
        for (const when_full full : {when_full::wait, when_full::give_up, when_full::queue}) {
            EXPECT_EQ(all.send(i, 0, 0, {}, full), error);
        }
        EXPECT_EQ(all[i].put(*make(), {1, key, 0, 0}, 0), error);
        EXPECT_EQ(all[i].get(*make(), {1, key, 0, 0}, 0), error);
        all[i].query(after);
        EXPECT_EQ(after.sent, before.sent);
        EXPECT_EQ(after.packets, before.packets);
    }
    for (int i = 0; i < 1000; ++i) {
        all.run_once();
    }
    EXPECT_EQ(handled, 0);
}

// One process that cannot go on tells all others, and what waits returns an error.
TEST(quiescence, ends_in_all_processes_if_one_cannot_go_on) {
    for (const bool by_wave : {true, false}) {
        engines all(3);
        if (by_wave) {
            all.network.nodes[1].wave_error = MPI_ERR_INTERN;
        }
        std::vector<int> codes(3, -1);
        for (int i = 0; i < 3; ++i) {
            all[i].quiesce_then([](int error, void *data) { *static_cast<int *>(data) = error; },
                                &codes[static_cast<std::size_t>(i)]);
        }
        if (!by_wave) {
            static_cast<network_events *>(all.network.nodes[1].events)->receive_failed(MPI_ERR_INTERN, true);
        }
        for (int i = 0; i < 10000 && std::count(codes.begin(), codes.end(), -1) != 0; ++i) {
            all.run_once();
        }
        EXPECT_EQ(codes, (std::vector<int>{MPI_ERR_OTHER, MPI_ERR_INTERN, MPI_ERR_OTHER}));
        EXPECT_EQ(all.quiesce(), codes); // from now on
        expect_nothing_is_sent(all, codes);
    }
}

// No credits come back to it, since it receives nothing.
TEST(quiescence, ends_in_all_processes_if_one_without_credits_cannot_go_on) {
    engines all(2);
    std::vector<char> memory(1);
    std::uint64_t key = 0;
    ASSERT_TRUE(all[0].memory().add(memory.data(), 1, key));
    for (int i = 0; i < 100; ++i) {
        transfer *const t = make_transfer(0);
        t->rank = 0;
        t->data = memory.data();
        t->bytes = 1;
        all[1].put(*t, {1, key, 0, 0}, 0);
    }
    static_cast<network_events *>(all.network.nodes[1].events)->receive_failed(MPI_ERR_INTERN, true);
    int code = -1;
    all[0].quiesce_then([](int error, void *data) { *static_cast<int *>(data) = error; }, &code);
    for (int i = 0; i < 10000 && code == -1; ++i) {
        all.network.step_to(0); // nothing arrives at process 1
        all[0].progress(nullptr);
    }
    EXPECT_EQ(code, MPI_ERR_OTHER);
    for (int i = 0; i < 10000; ++i) { // what is under way ends
        all.run_once();
    }
}

// A process has found the end, and waits in network::end() for another one, which breaks off.
TEST(quiescence, the_end_of_an_engine_is_an_error_if_another_process_breaks_off_meanwhile) {
    engines all(2);
    all.network.never_end = true;
    bool other = false;
    ASSERT_TRUE(all[1].quiesce_then([](int, void *) {}, nullptr));
    all.network.meanwhile = [&] {
        all[1].progress(nullptr);
        if (all.network.is_ending && !other) {
            other = true;
            static_cast<network_events *>(all.network.nodes[1].events)->receive_failed(MPI_ERR_INTERN, true);
        }
    };
    bool is_clean = true;
    EXPECT_EQ(all[0].end(is_clean), MPI_ERR_OTHER);
    all.network.meanwhile = nullptr;
    EXPECT_FALSE(is_clean);
}

// The other process would wait for it for ever, while this one has ended without an error.
TEST(quiescence, the_end_of_an_engine_promises_no_packet_that_is_lost) {
    engines all(2);
    fake::node &first = all.network.nodes[0];
    const auto nothing = [](const thence_am_message *, void *) -> int { return MPI_SUCCESS; };
    all.add(0, nothing, nullptr, THENCE_AM_SHORT);
    for (int i = 0; i < 3; ++i) {
        all.send(1, 0, 0);
    }
    first.holds_packets = true;
    first.late_send_error = MPI_ERR_OTHER;
    while (first.leaving.empty()) { // it returns credits
        all.run_once();
    }
    bool is_quiet = false;
    int polls = 0;
    ASSERT_TRUE(all[1].quiesce_then([](int, void *told) { *static_cast<bool *>(told) = true; }, &is_quiet));
    all.network.meanwhile = [&] {
        if (!is_quiet) {
            all[1].progress(nullptr);
        } else if (++polls == 100) {
            first.holds_packets = false;
        }
    };
    bool is_clean = false;
    EXPECT_EQ(all[0].end(is_clean), MPI_SUCCESS);
    all.network.meanwhile = nullptr;
    first.holds_packets = false;
    EXPECT_TRUE(is_clean);
    EXPECT_EQ(first.promised, std::vector<std::uint64_t>(2, 0));
}

TEST(quiescence, the_end_of_an_engine_sleeps_while_it_waits_for_one_that_is_under_way) {
    engines all(1);
    bool is_told = false;
    all[0].hold();
    ASSERT_TRUE(all[0].quiesce_then([](int, void *told) { *static_cast<bool *>(told) = true; }, &is_told));
    const unsigned long before = thence::fake::sleeps_here();
    bool is_held = true;
    bool has_slept = false;
    long polls = 0;
    all.network.meanwhile = [&] { // it becomes quiet after a sleep, or when there was none for long
        if (is_held && (thence::fake::sleeps_here() > before || ++polls == 1'000'000)) {
            has_slept = thence::fake::sleeps_here() > before;
            is_held = false;
            all[0].release();
        }
    };
    bool is_clean = false;
    EXPECT_EQ(all[0].end(is_clean), MPI_SUCCESS);
    all.network.meanwhile = nullptr;
    EXPECT_TRUE(has_slept);
    EXPECT_TRUE(is_told);
    EXPECT_TRUE(is_clean);
}

TEST(quiescence, of_one_process_waits_for_the_others) {
    engines all(2);
    bool done = false;
    const auto note = [](int, void *data) { *static_cast<bool *>(data) = true; };
    ASSERT_TRUE(all[0].quiesce_then(note, &done));
    EXPECT_FALSE(all[0].quiesce_then(note, &done)); // one at a time
    for (int i = 0; i < 200; ++i) {
        all.run_once();
    }
    EXPECT_FALSE(done);
    bool other = false;
    ASSERT_TRUE(all[1].quiesce_then(note, &other));
    for (int i = 0; i < 1000 && !(done && other); ++i) {
        all.run_once();
    }
    EXPECT_TRUE(done && other);
}

} // namespace
