// SPDX-License-Identifier: BSD-3-Clause
// Quiescence and messages without a handler: it waits for those whose handler a
// later message registers, and tells of the others.
#include "fake_network.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

using namespace thence::am;
using fake::engines;

// Messages that need a handler which a later message registers: one that goes
// from process to process for a while.
class late_handlers {
public:
    late_handlers(int ranks, unsigned seed) : all_(ranks, with_room(), seed), random_(seed) {
        all_.network.sends_complete_at_once = seed % 2 != 0;
        all_.add(0, &travel, this, seed % 3 == 0 ? THENCE_AM_SHORT : 0U);
        for (int number = 1; number <= most; ++number) {
            begin(number);
        }
    }
    void check() {
        ASSERT_EQ(all_.quiesce(), std::vector<int>(static_cast<std::size_t>(all_.size()), MPI_SUCCESS));
        EXPECT_EQ(handled_, sent_);
        EXPECT_TRUE(all_.failures.empty());
        std::uint64_t balance = 0;
        for (int i = 0; i < all_.size(); ++i) {
            thence_am_info info{};
            all_[i].query(info);
            balance += info.sent - info.handled;
        }
        EXPECT_EQ(balance, 0U);
    }

private:
    static constexpr int most = 6;
    static thence_am_options with_room() {
        thence_am_options options{};
        options.max_queued = 1 << 20;
        return options;
    }
    struct traveller {
        int hops;
        int number; // of the handler that it registers at its end
        int home;   // there
    };
    int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
    void begin(int number) {
        const int home = below(all_.size());
        const int from = (home + 1 + below(all_.size() - 1)) % all_.size();
        all_[from].handlers().add(number, {&count, this, 0});
        for (int i = below(60); i >= 0; --i) { // more than the window, if there are many
            const char payload[104] = {};
            all_.send(from, home, number, {payload, sizeof payload});
            ++sent_;
        }
        const traveller first{below(12), number, home};
        all_.send(from, below(all_.size()), 0, {&first, sizeof first});
    }
    static int count(const thence_am_message *, void *data) {
        ++static_cast<late_handlers *>(data)->handled_;
        return MPI_SUCCESS;
    }
    static int travel(const thence_am_message *m, void *data) {
        auto &self = *static_cast<late_handlers *>(data);
        traveller t{};
        std::memcpy(&t, m->payload, sizeof t);
        const int here = reinterpret_cast<message_engine *>(m->am)->processes().rank();
        if (t.hops == 0 && here == t.home) {
            self.all_[here].handlers().add(t.number, {&count, data, self.below(2) == 0 ? THENCE_AM_SHORT : 0U});
            return MPI_SUCCESS;
        }
        t.hops -= t.hops > 0 ? 1 : 0;
        self.all_.send(here, t.hops == 0 ? t.home : self.below(self.all_.size()), 0, {&t, sizeof t});
        return MPI_SUCCESS;
    }

    engines all_;
    std::mt19937 random_;
    long sent_ = 0;
    long handled_ = 0;
};

TEST(quiescence, waits_for_handlers_that_a_message_registers) {
    for (unsigned seed = 1; seed <= 1000; ++seed) {
        SCOPED_TRACE(seed);
        late_handlers play(2 + static_cast<int>(seed % 4), seed);
        play.check();
        if (testing::Test::HasFailure()) {
            return;
        }
    }
}

// More than the window, so that their sender waits for credits; and more than
// may be kept without credits.
TEST(quiescence, is_found_though_messages_have_no_handler_and_each_of_them_is_told) {
    for (const std::size_t kept : {std::size_t{262144}, std::size_t{2000}}) {
        thence_am_options options{};
        options.max_queued = kept;
        engines all(2, options);
        long handled = 0;
        const registered_handler handler{[](const thence_am_message *, void *data) -> int {
                                             ++*static_cast<long *>(data);
                                             return static_cast<int>(MPI_SUCCESS);
                                         },
                                         &handled, 0};
        all[0].handlers().add(9, handler);
        const char payload[104] = {};
        for (int i = 0; i < 300; ++i) {
            all.send(0, 1, 9, {payload, sizeof payload});
        }
        EXPECT_EQ(all.quiesce(), (std::vector<int>{MPI_SUCCESS, MPI_ERR_ARG}));
        EXPECT_EQ(all.failures.size(), 300U);
        EXPECT_EQ(all[1].handlers().held(), 0U);
        EXPECT_EQ(all.quiesce(), std::vector<int>(2, MPI_SUCCESS)) << "told once";
        all[1].handlers().add(9, handler);
        all.send(0, 1, 9, {payload, sizeof payload});
        EXPECT_EQ(all.quiesce(), std::vector<int>(2, MPI_SUCCESS));
        EXPECT_EQ(handled, 1);
    }
}

// As while a handler runs in its turn: the thread that runs it makes none.
TEST(progress, is_made_by_other_threads_while_the_handler_of_a_held_message_runs) {
    engines all(2);
    int handled = 0;
    struct seen {
        engines &all;
        int &handled;
    } data{all, handled};
    const auto handler = [](const thence_am_message *, void *user) -> int {
        seen &s = *static_cast<seen *>(user);
        ++s.handled;
        const int before = s.all.network.nodes[1].progressed;
        std::thread([&s] { s.all[1].progress(nullptr); }).join();
        EXPECT_EQ(s.all.network.nodes[1].progressed, before + 1);
        return MPI_SUCCESS;
    };
    all[0].handlers().add(9, {handler, &data, 0});
    all.send(0, 1, 9);
    while (all[1].handlers().held() == 0) {
        all.run_once();
    }
    all[1].handlers().add(9, {handler, &data, 0});
    EXPECT_EQ(all.quiesce(), std::vector<int>(2, MPI_SUCCESS));
    EXPECT_EQ(handled, 1);
}

// Each is taken once, and counted as often in `sent` as it is handled.
TEST(handler_table, holds_messages_of_several_threads_while_their_handlers_are_registered) {
    constexpr int rounds = 40, threads = 3, of_each = 600, numbers = 16;
    for (int round = 0; round < rounds; ++round) {
        std::atomic<std::uint64_t> sent{0}, handled{0};
        handler_table table(sent);
        std::atomic<int> held{0};
        std::vector<std::thread> all;
        for (int t = 0; t < threads; ++t) {
            all.emplace_back([&] {
                for (int i = 0; i < of_each; ++i) {
                    const thence_am_message m{nullptr, 0, i % numbers, &i, sizeof i, nullptr, 0};
                    kept_credit *credit = nullptr;
                    ++sent;
                    if (table.hold(m, credit) == handler_table::outcome::waits) {
                        ++handled;
                    }
                    ++held;
                }
            });
        }
        all.emplace_back([&] {
            for (int number = 0; number < numbers; ++number) {
                while (held < threads * of_each * number / numbers) {
                    std::this_thread::yield();
                }
                EXPECT_TRUE(table.add(number, {}));
            }
        });
        int taken = 0;
        thence::base::linked_list<held_message> too_many;
        for (int poll = 0; taken < threads * of_each; ++poll) {
            if (const std::unique_ptr<held_message> one{table.take()}) {
                EXPECT_NE(table.find(one->message.number), nullptr);
                ++taken;
                ++handled;
            } else {
                poll % 2 == 0 ? static_cast<void>(table.release_credits(SIZE_MAX, too_many)) : table.keep_credits();
                table.begin_phase();
                std::this_thread::yield();
            }
        }
        for (std::thread &each : all) {
            each.join();
        }
        EXPECT_EQ(sent, handled);
        EXPECT_EQ(table.held(), 0U);
        EXPECT_EQ(table.ready(), 0U);
        EXPECT_TRUE(too_many.empty());
    }
}

} // namespace
