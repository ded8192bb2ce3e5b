// SPDX-License-Identifier: BSD-3-Clause
// Data and notifications in their order: random puts with checksums, puts that overlap, many threads on one queue.
#include "onesided.hpp"

#include <algorithm>
#include <random>
#include <vector>

namespace {

int rounds() {
    const char *const given = std::getenv("THENCE_TEST_ROUNDS");
    return given != nullptr ? std::atoi(given) : 2000;
}

std::uint32_t checksum(const unsigned char *data, std::size_t bytes) {
    std::uint32_t sum = 2166136261U;
    for (std::size_t i = 0; i < bytes; ++i) {
        sum = (sum ^ data[i]) * 16777619U;
    }
    return sum == 0 ? 1 : sum;
}

// Each rank sends to each, by a ring of slots in the part of the receiver. A message is its length and its data; the
// notification of its slot is its checksum. The receiver gives a slot back by a notification of the sender.
constexpr std::size_t most = 20000;
constexpr std::size_t room = most + 8;
constexpr unsigned ring = 4;
constexpr unsigned per_rank = 2 * ring;

struct random_puts {
    const segment_of &all;
    int other;
    unsigned sent = 0;
    unsigned seen = 0;
    std::mt19937 random{};
    std::vector<std::vector<unsigned char>> messages = std::vector<std::vector<unsigned char>>(ring);

    unsigned number(int rank, unsigned slot) const { return static_cast<unsigned>(rank) * per_rank + slot; }
    std::size_t place(int rank, unsigned slot) const { return (static_cast<std::size_t>(rank) * ring + slot) * room; }

    // Puts one message, if its slot is free.
    void put() {
        const unsigned slot = sent % ring;
        if (sent >= ring) {
            std::uint32_t free = 0;
            ASSERT_EQ(thence_notification_reset(all.segment, number(other, ring + slot), &free), MPI_SUCCESS);
            if (free == 0) {
                return;
            }
            ASSERT_EQ(thence_queue_flush(all.space, other), MPI_SUCCESS); // so the message may be written
        }
        // Most are short. Long ones are messages of their own.
        const std::uint64_t bytes = random() % 8 != 0 ? random() % 200 : random() % most;
        std::vector<unsigned char> &message = messages[slot];
        message.resize(8 + bytes);
        std::generate(message.begin(), message.end(), [&] { return static_cast<unsigned char>(random()); });
        std::memcpy(message.data(), &bytes, sizeof bytes);
        // In pieces: the notification is that of the last, and comes after all before it on its queue.
        const std::size_t at = place(all.rank, slot);
        const std::size_t cut = random() % message.size();
        ASSERT_EQ(thence_put(message.data() + cut, message.size() - cut, other, all.segment, at + cut, other, nullptr),
                  MPI_SUCCESS);
        ASSERT_EQ(thence_put_notify(message.data(), cut, other, all.segment, at, number(all.rank, slot),
                                    checksum(message.data(), message.size()), other, nullptr),
                  MPI_SUCCESS);
        ++sent;
    }

    // Looks for the next message of the other.
    void look() {
        const unsigned slot = seen % ring;
        std::uint32_t value = 0;
        ASSERT_EQ(thence_notification_reset(all.segment, number(other, slot), &value), MPI_SUCCESS);
        if (value == 0) {
            return;
        }
        const unsigned char *const at = all.memory + place(other, slot);
        std::uint64_t bytes = 0;
        std::memcpy(&bytes, at, sizeof bytes);
        ASSERT_LE(bytes, most);
        ASSERT_EQ(value, checksum(at, 8 + bytes)) << "message " << seen << " of " << bytes << " bytes from " << other;
        ASSERT_EQ(thence_notify(other, all.segment, number(all.rank, ring + slot), 1, other), MPI_SUCCESS);
        ++seen;
    }
};

TEST(onesided_order, random_puts_arrive_before_their_notification) {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const segment_of all(static_cast<std::size_t>(size) * ring * room, static_cast<unsigned>(size) * per_rank, size);
    std::vector<random_puts> streams;
    for (int i = 0; i < size; ++i) {
        streams.push_back({.all = all, .other = i});
        streams.back().random.seed(static_cast<unsigned>(all.rank * size + i + 1));
    }
    const auto total = static_cast<unsigned>(rounds() / size);
    const auto is_done = [&](const random_puts &each) { return each.sent == total && each.seen == total; };
    while (!std::all_of(streams.begin(), streams.end(), is_done) && !HasFatalFailure()) {
        for (random_puts &each : streams) {
            if (each.sent < total) {
                each.put();
            }
            if (each.seen < total) {
                each.look();
            }
        }
        thence_progress();
        std::this_thread::yield(); // the others may need this processor
    }
    // Take what is left, and wait until nobody looks any more.
    for (int i = 0; i < size; ++i) {
        EXPECT_EQ(thence_queue_flush(all.space, i), MPI_SUCCESS);
    }
}

TEST(onesided_order, of_puts_that_overlap_the_last_is_seen) {
    constexpr std::size_t bytes = 60000;
    const segment_of all(bytes, 2);
    std::vector<unsigned char> expected(bytes, 0);
    std::vector<std::vector<unsigned char>> sent;
    const int times = std::max(rounds() / 200, 2);
    for (int round = 1; round <= times; ++round) {
        // The receiver knows what its predecessor sends.
        const auto for_each_put = [&](int of_rank, auto use) {
            std::mt19937 random(static_cast<unsigned>(of_rank * 1000 + round));
            for (int i = 0; i < 20; ++i) {
                const std::size_t length = random() % 4 != 0 ? random() % 300 : random() % 30000;
                const std::size_t offset = random() % (bytes - length);
                use(offset, length, static_cast<unsigned char>(random()));
            }
        };
        sent.clear();
        for_each_put(all.rank, [&](std::size_t offset, std::size_t length, unsigned char value) {
            sent.emplace_back(length, value);
            EXPECT_EQ(thence_put(sent.back().data(), length, all.next(), all.segment, offset, 0, nullptr), MPI_SUCCESS);
        });
        EXPECT_EQ(thence_notify(all.next(), all.segment, 0, static_cast<std::uint32_t>(round), 0), MPI_SUCCESS);
        ASSERT_EQ(all.await(0), static_cast<std::uint32_t>(round));
        for_each_put(all.previous(), [&](std::size_t offset, std::size_t length, unsigned char value) {
            std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(offset), length, value);
        });
        ASSERT_EQ(std::memcmp(expected.data(), all.memory, bytes), 0) << "round " << round;
        EXPECT_EQ(thence_queue_flush(all.space, 0), MPI_SUCCESS);
        thence_notify(all.previous(), all.segment, 1, 1, 0);
        all.await(1);
    }
}

TEST(onesided_order, a_get_sees_the_puts_before_it_on_its_queue) {
    constexpr std::size_t bytes = 100000;
    const segment_of all(bytes, 1);
    for (int round = 1; round <= 20; ++round) {
        const std::vector<unsigned char> sent(bytes, static_cast<unsigned char>(round));
        std::vector<unsigned char> got(bytes, 0);
        ASSERT_EQ(thence_put(sent.data(), bytes, all.next(), all.segment, 0, 1, nullptr), MPI_SUCCESS);
        ASSERT_EQ(thence_get(got.data(), bytes, all.next(), all.segment, 0, 1, nullptr), MPI_SUCCESS);
        ASSERT_EQ(thence_queue_flush(all.space, 1), MPI_SUCCESS);
        EXPECT_EQ(got, sent);
    }
}

// Where MPI has copied each packet, nothing but the wait for room lets this process learn what the other one has taken.
TEST(onesided_order, more_puts_than_may_be_on_their_way_all_arrive) {
    constexpr std::uint32_t puts = 10'000;
    const segment_of all(sizeof puts, 1);
    if (all.rank % 2 == 0) {
        for (std::uint32_t i = 1; i <= puts; ++i) {
            ASSERT_EQ(thence_put_notify(&i, sizeof i, all.next(), all.segment, 0, 0, i, 0, nullptr), MPI_SUCCESS);
        }
    }
    if (all.previous() % 2 == 0) {
        while (all.await(0) != puts) {
        }
        std::uint32_t last = 0;
        std::memcpy(&last, all.memory, sizeof last);
        EXPECT_EQ(last, puts);
    }
}

TEST(onesided_order, many_threads_use_one_queue) {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE) {
        GTEST_SKIP() << "needs MPI_THREAD_MULTIPLE";
    }
    constexpr unsigned threads = 32;
    constexpr std::size_t bytes = 10000;
    const segment_of all(threads * bytes, 2 * threads, 1);
    std::vector<std::thread> running;
    for (unsigned t = 0; t < threads; ++t) {
        running.emplace_back([&all, t] {
            std::vector<unsigned char> sent(bytes);
            for (unsigned round = 1; round <= 10; ++round) {
                std::fill(sent.begin(), sent.end(), static_cast<unsigned char>(round + t));
                EXPECT_EQ(
                    thence_put_notify(sent.data(), bytes, all.next(), all.segment, t * bytes, t, round, 0, nullptr),
                    MPI_SUCCESS);
                EXPECT_EQ(all.await(t), round);
                const unsigned char *const got = all.memory + t * bytes;
                EXPECT_TRUE(std::all_of(got, got + bytes, [&](unsigned char each) {
                    return each == static_cast<unsigned char>(round + t);
                }));
                EXPECT_EQ(thence_queue_flush(all.space, 0), MPI_SUCCESS);
                thence_notify(all.previous(), all.segment, threads + t, 1, 0);
                all.await(threads + t);
            }
        });
    }
    for (std::thread &each : running) {
        each.join();
    }
}

TEST(onesided_order, one_of_many_threads_takes_a_notification) {
    constexpr unsigned threads = 4;
    constexpr unsigned arrivals = 500;
    const segment_of all(8, 2);
    std::atomic<unsigned> taken{0};
    std::atomic<bool> all_taken{false};
    std::vector<std::thread> running;
    for (unsigned t = 0; t < threads; ++t) {
        running.emplace_back([&] {
            while (!all_taken) {
                std::uint32_t value = 0;
                thence_notification_reset(all.segment, 0, &value);
                if (value != 0) {
                    EXPECT_EQ(value, taken.fetch_add(1) + 1);
                    thence_notify(all.rank, all.segment, 1, 1, 0);
                } else {
                    std::this_thread::yield();
                }
            }
        });
    }
    for (unsigned i = 1; i <= arrivals; ++i) {
        thence_notify(all.rank, all.segment, 0, i, 0);
        all.await(1);
    }
    all_taken = true;
    for (std::thread &each : running) {
        each.join();
    }
    EXPECT_EQ(taken.load(), arrivals);
}

} // namespace
