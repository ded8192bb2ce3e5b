// SPDX-License-Identifier: BSD-3-Clause
// The rules of short messages: each is handled once, credits bound what a receiver has, faults are told.
#include "fake_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace thence::am;
using fake::engines;

constexpr unsigned both[] = {0U, THENCE_AM_SHORT};

int count(const thence_am_message *, void *data) {
    ++*static_cast<long *>(data);
    return MPI_SUCCESS;
}
int keep(const thence_am_message *m, void *data) {
    const auto *const begin = static_cast<const char *>(m->payload);
    static_cast<std::vector<std::string> *>(data)->emplace_back(begin, begin + m->bytes);
    return MPI_SUCCESS;
}

TEST(messages, arrive_once_and_whole) {
    for (const unsigned flags : both) {
        engines all(3);
        std::vector<std::string> kept;
        all.add(5, &keep, &kept, flags);
        std::multiset<std::string> sent;
        for (std::size_t i = 0; i <= 104; ++i) {
            const std::string text(i, static_cast<char>('a' + i % 26));
            sent.insert(text);
            ASSERT_EQ(all.send(static_cast<int>(i % 3), static_cast<int>(i % 2), 5, {text.data(), text.size()}),
                      MPI_SUCCESS);
        }
        EXPECT_EQ(all.quiesce(), std::vector<int>(3, MPI_SUCCESS));
        EXPECT_EQ(std::multiset<std::string>(kept.begin(), kept.end()), sent);
    }
}

TEST(messages, payloads_are_aligned_to_8_bytes) {
    engines all(2);
    all.add(
        0,
        [](const thence_am_message *m, void *) -> int {
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(m->payload) % 8, 0U);
            return MPI_SUCCESS;
        },
        nullptr);
    for (std::size_t i = 0; i < 50; ++i) {
        const char bytes[50] = {};
        all.send(0, 1, 0, {bytes, i});
    }
    all.quiesce();
}

// What a receiver that handles nothing has, in packets and with the sender.
TEST(messages, to_a_slow_receiver_use_bounded_memory) {
    engines all(3);
    long handled = 0;
    all.add(0, &count, &handled);
    long accepted = 0;
    for (int i = 0; i < 100000; ++i) {
        for (int from = 0; from < 2; ++from) {
            const int code = all.send(from, 2, 0, {&i, sizeof i}, when_full::give_up);
            accepted += code == MPI_SUCCESS ? 1 : 0;
        }
        all[0].progress(nullptr);
        all[1].progress(nullptr);
        all.network.step();
        thence_am_info info{};
        all[0].query(info);
        ASSERT_LE(info.queued, 1000U + 16U);
    }
    EXPECT_EQ(handled, 0);
    EXPECT_LT(accepted, 300);
    EXPECT_LE(all.network.nodes[2].most_for_this, 2U * 4U); // the window of two senders
    EXPECT_EQ(all.quiesce(), std::vector<int>(3, MPI_SUCCESS));
    EXPECT_EQ(handled, accepted);
}

TEST(messages, a_million_use_no_more_memory_than_a_thousand) {
    engines all(2);
    all.network.sends_complete_at_once = true;
    long handled = 0;
    all.add(0, &count, &handled);
    all.add(1, &count, &handled, THENCE_AM_SHORT);
    long most = 0;
    for (int i = 0; i < 1000000; ++i) {
        const long value = i;
        while (all.send(0, 1, i % 2, {&value, sizeof value}, when_full::give_up) != MPI_SUCCESS) {
            all.run_once();
        }
        most = std::max(most, all.network.unhandled_packets());
    }
    EXPECT_EQ(all.quiesce(), std::vector<int>(2, MPI_SUCCESS));
    EXPECT_EQ(handled, 1000000);
    EXPECT_LE(most, 3 * 4 + 4);
    EXPECT_LT(all[0].packets_made(), 64U);
    EXPECT_LT(all[1].packets_made(), 64U);
}

TEST(messages, that_wait_share_packets) {
    engines all(2);
    long handled = 0;
    all.add(0, &count, &handled);
    for (int i = 0; i < 400; ++i) {
        all.send(0, 1, 0);
    }
    all.quiesce();
    thence_am_info info{};
    all[0].query(info);
    EXPECT_EQ(handled, 400);
    EXPECT_LT(info.packets, 40U); // 8 bytes each in packets of 200
}

TEST(messages, for_a_handler_that_fails_are_told_and_the_engine_goes_on) {
    for (const unsigned flags : both) {
        engines all(2);
        long handled = 0;
        all.add(
            0, [](const thence_am_message *, void *) -> int { return static_cast<int>(MPI_ERR_IO); }, nullptr, flags);
        all.add(1, &count, &handled);
        all.send(0, 1, 0);
        all.send(0, 1, 1);
        EXPECT_EQ(all.quiesce(), (std::vector<int>{MPI_SUCCESS, MPI_ERR_IO}));
        ASSERT_EQ(all.failures.size(), 1U);
        EXPECT_EQ(all.failures[0].what, "a handler has returned an error");
        EXPECT_EQ(handled, 1);
        all.send(0, 1, 1);
        EXPECT_EQ(all.quiesce(), std::vector<int>(2, MPI_SUCCESS)); // an error is told once
        EXPECT_EQ(handled, 2);
    }
}

TEST(failures, say_which_one_quiescence_returns) {
    engines all(2);
    const auto fail = [&](int error, bool cannot_go_on = false) {
        all.network.nodes[1].events->receive_failed(error, cannot_go_on);
    };
    const auto first = [&] {
        std::vector<int> found;
        for (const engines::told &each : std::exchange(all.failures, {})) {
            found.push_back(each.first);
        }
        return found;
    };
    for (int round = 0; round < 2; ++round) {
        fail(MPI_ERR_INTERN);
        fail(MPI_ERR_OTHER);
        EXPECT_EQ(all.quiesce(), (std::vector<int>{MPI_SUCCESS, MPI_ERR_INTERN}));
        EXPECT_EQ(first(), (std::vector{1, 0}));
    }
    fail(MPI_ERR_OTHER);
    fail(MPI_ERR_INTERN, true); // all waits return this one from now on
    EXPECT_EQ(first(), (std::vector{1, 0, 1}));
}

// Who keeps what `failed` is told has it when quiescence returns its code.
TEST(failures, are_told_before_quiescence_returns_them) {
    engines all(2);
    std::vector<int> meanwhile;
    all.when_told = [&] { meanwhile = all.quiesce(); };
    all.network.nodes[1].events->receive_failed(MPI_ERR_INTERN, false);
    EXPECT_EQ(meanwhile, (std::vector<int>{MPI_SUCCESS, MPI_SUCCESS}));
    EXPECT_EQ(all.quiesce(), (std::vector<int>{MPI_SUCCESS, MPI_ERR_INTERN}));
}

TEST(messages, wait_for_a_handler_that_is_registered_late) {
    for (const unsigned flags : both) {
        engines all(2);
        long handled = 0;
        all[0].handlers().add(9, {&count, &handled, flags});
        all.send(0, 1, 9);
        for (int i = 0; i < 100; ++i) {
            all.run_once();
        }
        EXPECT_EQ(handled, 0);
        all[1].handlers().add(9, {&count, &handled, flags});
        EXPECT_EQ(all.quiesce(), std::vector<int>(2, MPI_SUCCESS));
        EXPECT_EQ(handled, 1);
    }
}

TEST(messages, without_a_handler_are_told_when_all_shall_be_quiet) {
    engines all(2);
    long handled = 0;
    all[0].handlers().add(9, {&count, &handled, 0});
    all.send(0, 1, 9);
    EXPECT_EQ(all.quiesce(), (std::vector<int>{MPI_SUCCESS, MPI_ERR_ARG}));
    ASSERT_EQ(all.failures.size(), 1U);
    EXPECT_EQ(all.failures[0].rank, 0);
}

// The handler that may take long is not run by the network, though it came as a short one.
TEST(messages, run_in_a_poll_if_the_receiver_has_registered_so) {
    engines all(2);
    long handled = 0;
    all[0].handlers().add(0, {&count, &handled, THENCE_AM_SHORT});
    all[1].handlers().add(0, {&count, &handled, 0});
    all.send(0, 1, 0);
    for (int i = 0; i < 200; ++i) {
        all.network.step();
    }
    EXPECT_EQ(handled, 0);
    all.quiesce();
    EXPECT_EQ(handled, 1);
}

TEST(messages, that_cannot_be_sent_are_told_and_quiescence_ends) {
    engines all(2);
    long handled = 0;
    all.add(0, &count, &handled);
    all.network.nodes[0].send_error = MPI_ERR_OTHER;
    for (int i = 0; i < 100; ++i) {
        all.send(0, 1, 0);
    }
    std::vector<double> memory(10);
    std::uint64_t key = 0;
    ASSERT_TRUE(all[1].memory().add(memory.data(), 80, key));
    transfer *const t = make_transfer(0);
    t->rank = 1;
    t->bytes = 80;
    t->data = memory.data();
    EXPECT_EQ(all[0].put(*t, {80, key, 1, 0}, 0), MPI_SUCCESS);
    const std::vector<int> codes = all.quiesce();
    EXPECT_EQ(std::count(codes.begin(), codes.end(), MPI_ERR_OTHER), 1);
    EXPECT_FALSE(all.failures.empty());
    EXPECT_EQ(handled, 0);
}

struct notes {
    int left = 0;
    int error = MPI_SUCCESS;
};
void note(int error, void *data) {
    auto &n = *static_cast<notes *>(data);
    ++n.left;
    n.error = error;
}

TEST(messages, tell_when_they_have_left) {
    for (const int error : {MPI_SUCCESS, MPI_ERR_OTHER}) {
        engines all(2);
        long handled = 0;
        all.add(0, &count, &handled);
        all.network.nodes[0].send_error = error;
        notes n;
        bool sent = false;
        for (int i = 0; i < 30; ++i) {
            all[0].send(1, 0, {}, when_full::queue, new departure_callback(&note, &n), sent);
        }
        EXPECT_EQ(n.left < 30, error == MPI_SUCCESS); // those that cannot be sent are told at once
        for (int i = 0; n.left < 30 && i < 10000; ++i) {
            all.run_once();
        }
        EXPECT_EQ(n.left, 30);
        EXPECT_EQ(n.error, error);
        all.quiesce();
    }
}

// Messages that wait for their handler keep their credit.
TEST(messages, that_are_held_use_bounded_memory) {
    for (const unsigned flags : both) {
        engines all(2);
        long handled = 0;
        all[0].handlers().add(9, {&count, &handled, flags});
        long accepted = 0;
        for (int i = 0; i < 20000; ++i) {
            accepted += all.send(0, 1, 9, {}, when_full::give_up) == MPI_SUCCESS ? 1 : 0;
            all.run_once();
        }
        EXPECT_EQ(handled, 0);
        EXPECT_LE(all[1].handlers().held(), 4U * 24U); // the window, and what has room in a packet
        all[1].handlers().add(9, {&count, &handled, flags});
        EXPECT_EQ(all.quiesce(), std::vector<int>(2, MPI_SUCCESS));
        EXPECT_EQ(handled, accepted);
    }
}

// Credits do not come in packets that wait for a poll of their receiver: here in those of the answers.
TEST(messages, leave_though_their_sender_polls_no_handlers) {
    engines all(2);
    long handled = 0;
    all.add(
        0,
        [](const thence_am_message *m, void *data) -> int {
            ++*static_cast<long *>(data);
            bool sent = false;
            return reinterpret_cast<message_engine *>(m->am)->send(m->source, 1, {}, when_full::queue, nullptr, sent);
        },
        &handled);
    long answered = 0;
    all.add(1, &count, &answered);
    for (int i = 0; i < 8; ++i) { // more than the window, each in a packet of its own
        const char much[104] = {};
        all.send(0, 1, 0, {much, sizeof much});
    }
    for (int i = 0; i < 2000; ++i) { // process 0 is in MPI, but runs no handlers
        all[1].progress(nullptr);
        all.network.step();
    }
    EXPECT_EQ(handled, 8);
    EXPECT_EQ(answered, 0);
    all.quiesce();
    EXPECT_EQ(answered, 8);
}

// A credit that was on its way back is not lost with its packet.
TEST(messages, leave_though_packets_with_credits_were_lost) {
    engines all(2);
    long handled = 0;
    all.add(0, &count, &handled);
    for (int i = 0; i < 100; ++i) {
        const char much[104] = {};
        all.send(0, 1, 0, {much, sizeof much});
    }
    all.network.nodes[1].send_error = MPI_ERR_OTHER;
    for (int i = 0; i < 2000; ++i) {
        all.run_once();
    }
    EXPECT_LT(handled, 100);
    EXPECT_EQ(all.failures.size(), 1U); // told once
    all.network.nodes[1].send_error = MPI_SUCCESS;
    EXPECT_EQ(all.quiesce(), (std::vector<int>{MPI_SUCCESS, MPI_ERR_OTHER}));
    EXPECT_EQ(handled, 100);
}

// Who is told that a message has left may send the next: calls do not nest, and a full receiver is no error there.
TEST(messages, that_are_sent_when_another_has_left_do_not_nest) {
    engines all(2);
    all.network.sends_complete_at_once = true;
    long handled = 0;
    all.add(0, &count, &handled);
    struct chain {
        message_engine *engine;
        int left = 1000;
        int depth = 0;
        int deepest = 0;
        static void next(int, void *data) {
            auto &c = *static_cast<chain *>(data);
            c.deepest = std::max(c.deepest, ++c.depth);
            EXPECT_TRUE(c.engine->must_not_wait());
            if (--c.left > 0) {
                const char much[104] = {};
                bool sent = false;
                EXPECT_EQ(c.engine->send(1, 0, {much, sizeof much}, when_full::wait, nullptr, sent), MPI_SUCCESS);
                EXPECT_EQ(c.engine->send(1, 0, {}, when_full::queue, new departure_callback(&next, data), sent),
                          MPI_SUCCESS);
            }
            --c.depth;
        }
    } c{&all[0]};
    bool sent = false;
    all[0].send(1, 0, {}, when_full::queue, new departure_callback(&chain::next, &c), sent);
    all.quiesce();
    EXPECT_EQ(c.left, 0);
    EXPECT_LE(c.deepest, 3);
    EXPECT_EQ(handled, 1 + 2 * 999);
}

TEST(messages, of_threads_that_may_not_call_mpi_leave_in_the_progress_of_the_one_that_may) {
    engines all(2);
    long handled = 0;
    all.add(0, &count, &handled);
    all.network.nodes[0].may_call = false; // now "another thread" sends
    for (int i = 0; i < 100; ++i) {
        all.send(0, 1, 0);
    }
    EXPECT_EQ(all.network.unhandled_packets(), 0);
    all.network.nodes[0].may_call = true;
    EXPECT_EQ(all.quiesce(), std::vector<int>(2, MPI_SUCCESS));
    EXPECT_EQ(handled, 100);
}

} // namespace
