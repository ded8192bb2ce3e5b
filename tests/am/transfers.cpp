// SPDX-License-Identifier: BSD-3-Clause
// The rules of put and get.
#include "fake_network.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

namespace {

using namespace thence::am;
using fake::engines;
using fake::outcome;

struct shared_memory {
    std::vector<int> values;
    thence_am_memory name{};
    shared_memory(message_engine &owner, int rank, std::size_t count) : values(count, -1) {
        name = {count * sizeof(int), 0, rank, 0};
        EXPECT_TRUE(owner.memory().add(values.data(), name.bytes, name.key));
    }
};

transfer *to_move(int rank, std::vector<int> &data, outcome &o, int number = THENCE_AM_NO_HANDLER) {
    transfer *const t = make_transfer(0);
    t->rank = rank;
    t->data = data.data();
    t->bytes = data.size() * sizeof(int);
    t->number = number;
    t->done = &outcome::note;
    t->done_data = &o;
    return t;
}

TEST(transfers, a_put_arrives_and_its_handler_sees_the_data) {
    for (const unsigned flags : {0U, THENCE_AM_SHORT}) {
        for (const bool at_once : {false, true}) {
            engines all(2);
            all.network.sends_complete_at_once = at_once;
            shared_memory there(all[1], 1, 100);
            int handled = 0;
            all.add(
                2,
                [](const thence_am_message *m, void *data) -> int {
                    EXPECT_EQ(m->data_bytes, 40U);
                    EXPECT_EQ(static_cast<const int *>(m->data)[9], 9);
                    ++*static_cast<int *>(data);
                    return MPI_SUCCESS;
                },
                &handled, flags);
            std::vector<int> from(10);
            std::iota(from.begin(), from.end(), 0);
            outcome o;
            ASSERT_EQ(all[0].put(*to_move(1, from, o, 2), there.name, 5 * sizeof(int)), MPI_SUCCESS);
            all.quiesce();
            EXPECT_EQ(o.ended, 1);
            EXPECT_EQ(handled, 1);
            EXPECT_EQ(there.values[4], -1);
            EXPECT_EQ(there.values[5], 0);
            EXPECT_EQ(there.values[14], 9);
            EXPECT_EQ(there.values[15], -1);
        }
    }
}

TEST(transfers, a_get_brings_the_data) {
    for (const bool may_call : {true, false}) {
        engines all(2);
        shared_memory there(all[1], 1, 100);
        std::iota(there.values.begin(), there.values.end(), 0);
        std::vector<int> to(10);
        outcome o;
        all.network.nodes[0].may_call = may_call; // false: begun by another thread
        ASSERT_EQ(all[0].get(*to_move(1, to, o), there.name, 7 * sizeof(int)), MPI_SUCCESS);
        all.network.nodes[0].may_call = true;
        all.quiesce();
        EXPECT_EQ(o.ended, 1);
        EXPECT_EQ(o.error, MPI_SUCCESS);
        EXPECT_EQ(to.front(), 7);
        EXPECT_EQ(to.back(), 16);
    }
}

TEST(transfers, leave_first_come_first_served_and_few_at_a_time) {
    engines all(2); // two at a time
    all.network.packets_complete_at_once = true;
    shared_memory there(all[1], 1, 1000);
    std::vector<int> from(10, 3);
    struct order {
        std::vector<int> ended;
        struct one {
            order *of;
            int i;
        };
    } seen;
    std::vector<order::one> each;
    for (int i = 0; i < 50; ++i) {
        each.push_back({&seen, i});
    }
    outcome unused;
    for (int i = 0; i < 50; ++i) {
        transfer *const t = to_move(1, from, unused);
        t->done_data = &each[static_cast<std::size_t>(i)];
        t->done = [](int, void *data) {
            const auto &o = *static_cast<order::one *>(data);
            o.of->ended.push_back(o.i);
        };
        all[0].put(*t, there.name, static_cast<std::size_t>(i) * sizeof from[0] * 10);
    }
    all.quiesce();
    EXPECT_EQ(all.network.nodes[0].most_data_leaving, 2U);
    ASSERT_EQ(seen.ended.size(), 50U);
    for (int i = 0; i < 50; ++i) { // of two that are under way either may end first
        EXPECT_LE(seen.ended[static_cast<std::size_t>(i)], i + 1);
    }
    EXPECT_EQ(there.values[499], 3);
}

// Each end starts the next: 1,000 of them need no deep stack.
TEST(transfers, that_are_started_when_another_has_left_do_not_nest) {
    engines all(2);
    all.network.sends_complete_at_once = true;
    shared_memory there(all[1], 1, 1);
    struct chain {
        message_engine *engine;
        const thence_am_memory *to;
        std::vector<int> from{7};
        int left = 1000;
        int depth = 0;
        int deepest = 0;
        static void next(int, void *data) {
            auto &c = *static_cast<chain *>(data);
            c.deepest = std::max(c.deepest, ++c.depth);
            if (--c.left > 0) {
                transfer *const t = make_transfer(0);
                t->rank = 1;
                t->data = c.from.data();
                t->bytes = sizeof(int);
                t->done = &next;
                t->done_data = data;
                c.engine->put(*t, *c.to, 0);
            }
            --c.depth;
        }
    } c{&all[0], &there.name};
    chain::next(MPI_SUCCESS, &c);
    all.quiesce();
    EXPECT_EQ(c.left, 0);
    EXPECT_LE(c.deepest, 3);
}

TEST(transfers, to_memory_that_was_forgotten_are_told) {
    engines all(2);
    shared_memory there(all[1], 1, 100);
    ASSERT_TRUE(all[1].memory().remove(there.name.key));
    EXPECT_FALSE(all[1].memory().remove(there.name.key));
    std::vector<int> data(10, 5);
    outcome put;
    outcome get;
    all[0].put(*to_move(1, data, put), there.name, 0);
    all[0].get(*to_move(1, data, get), there.name, 0);
    EXPECT_EQ(all.quiesce(), (std::vector<int>{MPI_SUCCESS, MPI_ERR_ARG}));
    EXPECT_EQ(put.ended, 1);
    EXPECT_EQ(get.ended, 1);
    EXPECT_EQ(get.error, MPI_ERR_ARG);
    ASSERT_EQ(all.failures.size(), 1U);
    EXPECT_EQ(there.values[0], -1);
    // A new registration in its place has another key.
    shared_memory other(all[1], 1, 100);
    EXPECT_NE(other.name.key, there.name.key);
}

// A million puts to a process that makes no progress: what it has of them is bounded, and so are the gets of this one.
TEST(transfers, to_a_slow_process_use_bounded_memory) {
    engines all(2);
    all.network.largest_data_tag = 2047;
    all.network.sends_complete_at_once = true;
    shared_memory there(all[1], 1, 1);
    long handled = 0;
    all.add(
        0,
        [](const thence_am_message *, void *data) -> int {
            ++*static_cast<long *>(data);
            return MPI_SUCCESS;
        },
        &handled);
    std::vector<int> data(1, 7);
    outcome put;
    outcome get;
    for (int i = 0; i < 3000; ++i) {
        all[0].put(*to_move(1, data, put, 0), there.name, 0);
        all[0].get(*to_move(1, data, get), there.name, 0);
        all[0].progress(nullptr);
        all.network.step();
    }
    EXPECT_LE(all.network.nodes[0].most_receives, 4U * 4U); // the window, and what has room in a packet
    EXPECT_LE(all.network.nodes[1].most_receives, 4U * 4U);
    EXPECT_LE(all.network.nodes[1].data_under_way.size(), 4U * 4U);
    EXPECT_EQ(handled, 0);
    EXPECT_EQ(all.quiesce(), std::vector<int>(2, MPI_SUCCESS));
    EXPECT_EQ(handled, 3000);
    EXPECT_EQ(put.ended, 3000);
    EXPECT_EQ(get.ended, 3000);
}

// Of what has no place one message has memory at a time.
TEST(transfers, to_memory_that_was_forgotten_use_bounded_memory) {
    engines all(2);
    shared_memory there(all[1], 1, 100);
    ASSERT_TRUE(all[1].memory().remove(there.name.key));
    std::vector<int> data(100, 5);
    outcome put;
    for (int i = 0; i < 200; ++i) {
        all[0].put(*to_move(1, data, put), there.name, 0);
    }
    EXPECT_EQ(all.quiesce(), (std::vector<int>{MPI_SUCCESS, MPI_ERR_ARG}));
    EXPECT_EQ(put.ended, 200);
    EXPECT_EQ(all.failures.size(), 200U);
    EXPECT_EQ(all.network.nodes[1].most_receives, 1U);
}

// Tags are used again, and still each put has its own data.
TEST(transfers, do_not_mistake_data_when_tags_come_again) {
    engines all(2);
    all.network.largest_data_tag = 1023;
    constexpr int count = 5000;
    shared_memory there(all[1], 1, count);
    std::vector<std::vector<int>> from;
    outcome o;
    for (int i = 0; i < count; ++i) {
        from.push_back({i});
    }
    for (int i = 0; i < count; ++i) {
        all[0].put(*to_move(1, from[static_cast<std::size_t>(i)], o), there.name,
                   static_cast<std::size_t>(i) * sizeof(int));
    }
    all.quiesce();
    std::vector<int> expected(count);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(there.values, expected);
}

// The other half of a transfer ends with an error, too.
TEST(transfers, whose_data_cannot_be_sent_end_in_both_processes) {
    engines all(2);
    shared_memory there(all[1], 1, 100);
    std::vector<int> data(10, 5);
    outcome put;
    outcome get;
    all.network.nodes[0].data_error = MPI_ERR_OTHER;
    all.network.nodes[1].data_error = MPI_ERR_OTHER;
    all[0].put(*to_move(1, data, put), there.name, 0);
    all[0].get(*to_move(1, data, get), there.name, 0);
    EXPECT_EQ(all.quiesce(), std::vector<int>(2, MPI_ERR_OTHER));
    EXPECT_EQ(put.ended, 1);
    EXPECT_EQ(put.error, MPI_ERR_OTHER);
    EXPECT_EQ(get.ended, 1);
    EXPECT_NE(get.error, MPI_SUCCESS);
    EXPECT_EQ(there.values[0], -1);
}

// The error may be known only after the send has begun.
TEST(transfers, whose_data_fail_on_their_way_end_in_both_processes) {
    engines all(2); // two at a time
    shared_memory there(all[1], 1, 100);
    std::vector<int> data(10, 5);
    outcome put;
    outcome get;
    for (fake::node &each : all.network.nodes) {
        each.late_data_error = MPI_ERR_OTHER;
    }
    for (int i = 0; i < 5; ++i) {
        all[0].put(*to_move(1, data, put), there.name, 0);
        all[0].get(*to_move(1, data, get), there.name, 0);
    }
    for (int i = 0; i < 20000 && put.ended + get.ended < 10; ++i) {
        all.run_once();
    }
    EXPECT_EQ(put.ended, 5);
    EXPECT_EQ(put.error, MPI_ERR_OTHER);
    EXPECT_EQ(get.ended, 5);
    EXPECT_NE(get.error, MPI_SUCCESS);
    EXPECT_EQ(all.quiesce(), std::vector<int>(2, MPI_ERR_OTHER));
    EXPECT_EQ(there.values[0], -1);
    for (fake::node &each : all.network.nodes) { // the throttle lets others leave
        each.late_data_error = MPI_SUCCESS;
    }
    all[0].put(*to_move(1, data, put), there.name, 0);
    EXPECT_EQ(all.quiesce(), std::vector<int>(2, MPI_SUCCESS));
    EXPECT_EQ(there.values[0], 5);
}

// The other half would wait for ever: all processes are told.
TEST(transfers, whose_failure_cannot_be_told_break_off) {
    engines all(2);
    shared_memory there(all[1], 1, 100);
    std::vector<int> data(10, 5);
    outcome put;
    all.network.nodes[0].late_data_error = MPI_ERR_OTHER;
    all.network.nodes[0].no_data_error = MPI_ERR_OTHER;
    all[0].put(*to_move(1, data, put), there.name, 0);
    for (const int code : all.quiesce()) {
        EXPECT_EQ(code, MPI_ERR_OTHER);
    }
    EXPECT_EQ(put.ended, 1);
    std::vector<fake::incoming> &left = all.network.nodes[1].receives;
    ASSERT_EQ(left.size(), 1U);
    all.network.nodes[1].events->data_arrived(*left[0].of, MPI_ERR_OTHER, 0);
    left.clear();
}

TEST(transfers, whose_announcement_is_lost_end) {
    engines all(2);
    shared_memory there(all[1], 1, 100);
    std::vector<int> data(10, 5);
    outcome put;
    outcome get;
    all.network.nodes[0].send_error = MPI_ERR_OTHER;
    all[0].put(*to_move(1, data, put), there.name, 0);
    all[0].get(*to_move(1, data, get), there.name, 0);
    EXPECT_EQ(all.quiesce(), (std::vector<int>{MPI_ERR_OTHER, MPI_SUCCESS}));
    EXPECT_EQ(put.ended, 1);
    EXPECT_EQ(put.error, MPI_ERR_OTHER);
    EXPECT_EQ(get.ended, 1);
    EXPECT_EQ(get.error, MPI_ERR_OTHER);
    EXPECT_TRUE(all.network.nodes[1].receives.empty());
}

TEST(transfers, do_not_wait_for_credits_of_messages_that_are_not_handled) {
    engines all(2);
    long handled = 0;
    all.add(
        0,
        [](const thence_am_message *, void *data) -> int {
            ++*static_cast<long *>(data);
            return MPI_SUCCESS;
        },
        &handled);
    for (int i = 0; i < 500; ++i) {
        all.send(0, 1, 0);
    }
    shared_memory there(all[1], 1, 10);
    std::vector<int> from(10, 3);
    outcome o;
    all[0].put(*to_move(1, from, o), there.name, 0);
    for (int i = 0; i < 1000; ++i) { // process 1 makes no progress by itself
        all[0].progress(nullptr);
        all.network.step();
    }
    EXPECT_EQ(there.values[9], 3);
    EXPECT_EQ(handled, 0);
    all.quiesce();
    EXPECT_EQ(handled, 500);
}

} // namespace
