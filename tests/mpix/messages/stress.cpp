// SPDX-License-Identifier: BSD-3-Clause
// Races: pushers and a popper of the queue, threads that send to each other while others drive their endpoints, regions
// that follow each other closely, and rounds of collectives without messages.
#include "fake_mpi.hpp"
#include "mpix/messages/endpoint.hpp"
#include "mpix/messages/ring.hpp"
#include "mpix/messages/waiting.hpp"
#include "mpix/threadcomm/activation.hpp"
#include "mpix/threadcomm/shared_exchange.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using namespace thence::messages;

#if defined(__SANITIZE_THREAD__)
constexpr int scale = 1;
#else
constexpr int scale = 10;
#endif

class endpoint_stress : public ::testing::Test {
protected:
    endpoint_stress() { thence::fake::world.begin({}); }
    ~endpoint_stress() override { thence::fake::world.end(); }
};

} // namespace

TEST_F(endpoint_stress, each_item_is_popped_once_and_in_the_order_of_its_pusher) {
    constexpr int pushers = 3;
    constexpr int items = 5000 * scale;
    struct item {
        int from, number;
    };
    ring<item, 4> queue;
    std::vector<std::thread> threads;
    for (int i = 0; i < pushers; ++i) {
        threads.emplace_back([&, i] {
            for (int n = 0; n < items; ++n) {
                while (!queue.push({i, n})) {
                    std::this_thread::yield();
                }
            }
        });
    }
    std::array<int, pushers> next{};
    for (int popped = 0; popped < pushers * items;) {
        if (const item *const front = queue.front()) {
            EXPECT_TRUE(queue.any());
            ASSERT_EQ(front->number, next[static_cast<std::size_t>(front->from)]++);
            queue.pop();
            ++popped;
        } else {
            std::this_thread::yield();
        }
    }
    EXPECT_FALSE(queue.any());
    for (std::thread &each : threads) {
        each.join();
    }
}

// Each thread has an endpoint. All send to all, in all forms of data, while one more thread drives everything.
TEST_F(endpoint_stress, messages_arrive_once_and_in_order_whoever_drives) {
    constexpr int count = 3;
    constexpr int rounds = 150 * scale;
    std::vector<std::unique_ptr<endpoint>> at;
    for (int i = 0; i < count; ++i) {
        at.push_back(std::make_unique<endpoint>());
    }
    std::atomic<bool> stop{false};
    std::thread driver([&] {
        while (!stop) {
            for (auto &each : at) {
                each->drive();
            }
            std::this_thread::yield();
        }
    });
    std::vector<std::thread> threads;
    for (int me = 0; me < count; ++me) {
        threads.emplace_back([&, me] {
            for (int round = 0; round < rounds; ++round) {
                const std::size_t n = std::array<std::size_t, 3>{1, 64, 4096}[static_cast<std::size_t>(round % 3)];
                std::vector<std::vector<int>> in(count, std::vector<int>(n, -1));
                std::vector<std::unique_ptr<p2p_operation>> receives;
                for (int from = 0; from < count; ++from) {
                    receives.push_back(std::make_unique<p2p_operation>());
                    receives.back()->data = bytes_at(in[static_cast<std::size_t>(from)].data(), n * sizeof(int));
                    receives.back()->wanted = {from, 0, MPI_ANY_TAG};
                    at[static_cast<std::size_t>(me)]->post(*receives.back());
                }
                const std::vector<int> out(n, 1000 * me + round);
                std::vector<std::unique_ptr<p2p_operation>> sends;
                for (int to = 0; to < count; ++to) {
                    auto op = std::make_unique<p2p_operation>();
                    op->data = bytes_at(out.data(), n * sizeof(int));
                    if (!send_local(*at[static_cast<std::size_t>(to)], *op, me, 0, round, round % 5 == 0)) {
                        sends.push_back(std::move(op));
                    }
                }
                const auto wait_for = [&](p2p_operation &op) {
                    for (waiting wait; !op.done.load(std::memory_order_acquire); wait()) {
                        at[static_cast<std::size_t>(me)]->drive();
                    }
                };
                for (int from = 0; from < count; ++from) {
                    p2p_operation &op = *receives[static_cast<std::size_t>(from)];
                    wait_for(op);
                    ASSERT_EQ(op.result.tag, round);
                    ASSERT_EQ(in[static_cast<std::size_t>(from)], std::vector<int>(n, 1000 * from + round));
                }
                for (auto &each : sends) {
                    wait_for(*each);
                }
            }
        });
    }
    for (std::thread &each : threads) {
        each.join();
    }
    stop = true;
    driver.join();
}

TEST_F(endpoint_stress, regions_do_not_overtake_each_other) {
    constexpr int count = 4;
    constexpr int rounds = 200 * scale;
    thence::threadcomm::activation r(count);
    std::atomic<int> inside{0};
    std::array<std::atomic<int>, count> in_round{};
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            for (int round = 0; round < rounds; ++round) {
                int index = -1;
                ASSERT_EQ(r.start("start", static_cast<std::uint64_t>(i) + 1, -1, -1, index),
                          thence::threadcomm::activation::answer::done);
                inside.fetch_add(1);
                ASSERT_LE(inside.load(), count);
                ASSERT_EQ(in_round[static_cast<std::size_t>(index)].fetch_add(1), round);
                inside.fetch_sub(1);
                r.finish("finish");
                // All were inside before any got out of the finish.
                for (auto &each : in_round) {
                    ASSERT_GE(each.load(), round + 1);
                }
            }
        });
    }
    for (std::thread &each : threads) {
        each.join();
    }
}

// Barriers, broadcasts and reductions in a sequence that repeats after a prime number of rounds.
TEST_F(endpoint_stress, rounds_read_what_was_brought_to_them) {
    using thence::threadcomm::shared_exchange;
    constexpr int count = 4;
    constexpr int rounds = 700 * scale;
    constexpr int words = 8;
    shared_exchange all(count);
    std::array<std::atomic<int>, count> entered{};
    const auto word = [](int round, int rank, int i) { return static_cast<unsigned char>(31 * round + 7 * rank + i); };
    std::vector<std::thread> threads;
    for (int me = 0; me < count; ++me) {
        threads.emplace_back([&, me] {
            const auto check = [&](int round, int from) {
                const shared_exchange::contribution &part = all.read(me, from);
                ASSERT_EQ(part.bytes, static_cast<std::uint64_t>(round));
                for (int i = 0; i < words; ++i) {
                    ASSERT_EQ(part.data[static_cast<std::size_t>(i)], word(round, from, i));
                }
            };
            for (int round = 1; round <= rounds; ++round) {
                entered[static_cast<std::size_t>(me)] = round;
                shared_exchange::contribution &mine = all.begin(me);
                mine.bytes = static_cast<std::uint64_t>(round);
                for (int i = 0; i < words; ++i) {
                    mine.data[static_cast<std::size_t>(i)] = word(round, me, i);
                }
                all.arrive(me);
                const int root = round % 7; // 4 to 6: all read all
                if (root < count) {
                    if (me != root) {
                        check(round, root);
                    }
                    continue;
                }
                all.wait_for_all(me);
                for (int from = 0; from < count; ++from) {
                    check(round, from);
                    ASSERT_GE(entered[static_cast<std::size_t>(from)].load(), round);
                    ASSERT_LE(entered[static_cast<std::size_t>(from)].load(), round + 2);
                }
            }
        });
    }
    for (std::thread &each : threads) {
        each.join();
    }
}
