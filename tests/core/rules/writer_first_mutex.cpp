// SPDX-License-Identifier: BSD-3-Clause
// The lock of those who let MPI make progress for the program.
#include "core/progress/writer_first_mutex.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <gtest/gtest.h>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using thence::progress::writer_first_mutex;

bool another_thread_can_share(writer_first_mutex &m) {
    return std::async(std::launch::async, [&] { return std::shared_lock(m, std::try_to_lock).owns_lock(); }).get();
}

TEST(writer_first_mutex, is_shared_by_several_threads_at_a_time) {
    writer_first_mutex m;
    const std::shared_lock first(m);
    std::thread([&] {
        const std::shared_lock second(m);
        EXPECT_TRUE(another_thread_can_share(m));
    }).join();
}

TEST(writer_first_mutex, is_joined_by_no_reader_while_a_writer_waits) {
    writer_first_mutex m;
    std::shared_lock first(m);
    std::atomic<bool> writes{false};
    std::thread writer([&] {
        const std::scoped_lock alone(m);
        writes = true;
    });
    while (another_thread_can_share(m)) { // until it waits
        std::this_thread::sleep_for(1ms);
    }
    std::atomic<bool> reads{false};
    std::thread reader([&] {
        const std::shared_lock shared(m);
        EXPECT_TRUE(writes);
        reads = true;
    });
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(writes);
    EXPECT_FALSE(reads);
    EXPECT_FALSE(another_thread_can_share(m));
    first.unlock();
    writer.join();
    reader.join();
    EXPECT_TRUE(another_thread_can_share(m));
}

TEST(writer_first_mutex, keeps_readers_and_other_writers_out_while_one_writes) {
    writer_first_mutex m;
    std::atomic<int> writers{0};
    std::atomic<int> readers{0};
    std::vector<std::thread> all;
    for (int i = 0; i < 4; ++i) {
        all.emplace_back([&, i] {
            for (int round = 0; round < 2000; ++round) {
                if (i < 2) {
                    const std::scoped_lock alone(m);
                    EXPECT_EQ(++writers, 1);
                    EXPECT_EQ(readers, 0);
                    std::this_thread::yield();
                    --writers;
                } else {
                    std::shared_lock shared(m, std::try_to_lock);
                    if (!shared.owns_lock()) {
                        shared.lock();
                    }
                    ++readers;
                    EXPECT_EQ(writers, 0);
                    --readers;
                }
            }
        });
    }
    for (std::thread &each : all) {
        each.join();
    }
}

TEST(writer_first_mutex, can_be_locked_again_by_the_writer) {
    writer_first_mutex m;
    {
        const std::scoped_lock outer(m);
        {
            const std::scoped_lock inner(m);
            EXPECT_FALSE(another_thread_can_share(m));
        }
        EXPECT_FALSE(another_thread_can_share(m));
    }
    EXPECT_TRUE(another_thread_can_share(m));
}

} // namespace
