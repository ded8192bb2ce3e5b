// SPDX-License-Identifier: BSD-3-Clause
// Queues of GASPI: their room, tags, and what a wait and a taker of tags give back.
#include "gaspi.hpp"
#include "onesided.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

TEST_F(gaspi, a_queue_is_full_and_a_wait_empties_it) {
    make(0, 1024);
    gaspi_number_t most = 0;
    gaspi_number_t posted = 0;
    ASSERT_EQ(gaspi_queue_size_max(&most), GASPI_SUCCESS);
    for (gaspi_number_t i = 0; i < most; ++i) {
        ASSERT_EQ(gaspi_write(0, 0, next, 0, 512, 8, 1, GASPI_BLOCK), GASPI_SUCCESS);
    }
    EXPECT_EQ(gaspi_queue_size(1, &posted), GASPI_SUCCESS);
    EXPECT_EQ(posted, most);
    EXPECT_EQ(gaspi_write(0, 0, next, 0, 512, 8, 1, GASPI_BLOCK), GASPI_QUEUE_FULL);
    EXPECT_EQ(gaspi_write(0, 0, next, 0, 512, 8, 0, GASPI_BLOCK), GASPI_SUCCESS) << "another queue";
    EXPECT_EQ(gaspi_wait(1, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_queue_size(1, &posted), GASPI_SUCCESS);
    EXPECT_EQ(posted, 0U);
    EXPECT_EQ(gaspi_write(0, 0, next, 0, 512, 8, 1, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, tags_come_back_once_for_each_request) {
    make(0, 400000);
    for (unsigned i = 1; i <= 10; ++i) {
        const gaspi_size_t bytes = i % 2 == 0 ? 8 : 150000;
        ASSERT_EQ(
            gaspi_operation_submit(GASPI_OP_WRITE_NOTIFY, 100 + i, 0, 0, next, 0, 200000, bytes, i, i, 3, GASPI_BLOCK),
            GASPI_SUCCESS);
    }
    gaspi_number_t each = 0;
    EXPECT_EQ(gaspi_operation_get_num_requests(GASPI_OP_WRITE_NOTIFY, 1, &each), GASPI_SUCCESS);
    EXPECT_EQ(each, 2U);
    std::vector<int> seen(11, 0);
    for (gaspi_number_t total = 0; total < 20;) {
        gaspi_tag_t tags[7];
        gaspi_status_t statuses[7];
        gaspi_number_t found = 0;
        const gaspi_return_t code = gaspi_request_wait(3, 7, &found, tags, statuses, GASPI_TEST);
        EXPECT_TRUE(code == GASPI_SUCCESS || code == GASPI_TIMEOUT);
        for (gaspi_number_t i = 0; i < found; ++i) {
            ++seen.at(tags[i] - 100);
            EXPECT_EQ(statuses[i].error, GASPI_SUCCESS);
        }
        total += found;
    }
    EXPECT_EQ(std::count(seen.begin() + 1, seen.end(), 2), 10);
    for (unsigned i = 1; i <= 10; ++i) {
        EXPECT_EQ(await(0, i), i);
    }
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, a_full_queue_is_emptied_by_a_taker_of_tags) {
    make(0, 300000);
    gaspi_number_t most = 0;
    gaspi_number_t found = 0;
    gaspi_tag_t tags[8];
    gaspi_status_t statuses[8];
    ASSERT_EQ(gaspi_queue_size_max(&most), GASPI_SUCCESS);
    gaspi_number_t posted = 0;
    for (gaspi_number_t left = 3 * most; left != 0;) { // some short, some long, none with a tag
        const gaspi_return_t code = gaspi_write(0, 0, next, 0, 150000, left % 100 == 0 ? 150000 : 8, 1, GASPI_BLOCK);
        if (code == GASPI_SUCCESS) {
            --left;
            continue;
        }
        ASSERT_EQ(code, GASPI_QUEUE_FULL);
        EXPECT_EQ(gaspi_request_wait(1, 8, &found, tags, statuses, GASPI_TEST), GASPI_TIMEOUT);
        EXPECT_EQ(found, 0U);
    }
    while (gaspi_queue_size(1, &posted) == GASPI_SUCCESS && posted != 0) {
        EXPECT_EQ(gaspi_request_wait(1, 0, &found, nullptr, nullptr, GASPI_TEST), GASPI_SUCCESS);
    }
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

// The target is stopped until so many messages are on their way to it that a call waits.
TEST_F(gaspi, a_queue_is_full_only_when_as_many_are_posted_as_it_takes) {
    auto *const memory = reinterpret_cast<gaspi_number_t *>(make(0, 64));
    std::vector<int> processes(size);
    int own = getpid();
    MPI_Allgather(&own, 1, MPI_INT, processes.data(), 1, MPI_INT, MPI_COMM_WORLD);
    const std::vector<bool> here = on_this_host();
    MPI_Barrier(MPI_COMM_WORLD);
    constexpr gaspi_number_t all = 10'000; // more than may be on their way
    if (size > 1 && rank == 0 && here[1] && only_messages()) {
        gaspi_number_t most = 0;
        ASSERT_EQ(gaspi_queue_size_max(&most), GASPI_SUCCESS);
        stop(processes[1]);
        std::atomic<gaspi_number_t> called{0};
        std::thread wakes([&] {
            gaspi_number_t before = 0;
            do {
                before = called;
                std::this_thread::sleep_for(std::chrono::milliseconds(100));
            } while (called != before);
            kill(processes[1], SIGCONT);
        });
        gaspi_number_t refused = 0;
        for (gaspi_number_t i = 1; i <= all; ++i) {
            gaspi_number_t posted = 0;
            EXPECT_EQ(gaspi_queue_size(0, &posted), GASPI_SUCCESS);
            if (posted + 2 > most) {
                EXPECT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS);
            }
            *memory = i;
            called = i;
            refused += gaspi_write_notify(0, 0, 1, 0, 8, 8, 1, i, 0, GASPI_BLOCK) == GASPI_SUCCESS ? 0 : 1;
        }
        EXPECT_EQ(refused, 0U);
        EXPECT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS);
        wakes.join();
        EXPECT_EQ(gaspi_notify(0, 1, 2, 1, 0, GASPI_BLOCK), GASPI_SUCCESS);
    } else if (rank == 1 && here[0] && only_messages()) {
        EXPECT_EQ(await(0, 2), 1U);
        EXPECT_EQ(await(0, 1), all) << "the last";
        EXPECT_EQ(memory[2], all);
    }
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, writes_go_by_memory_behind_messages_that_are_no_operations) {
    auto *const memory = reinterpret_cast<std::uint64_t *>(make(0, 64));
    std::vector<int> processes(size);
    int own = getpid();
    MPI_Allgather(&own, 1, MPI_INT, processes.data(), 1, MPI_INT, MPI_COMM_WORLD);
    const std::vector<bool> here = on_this_host();
    MPI_Barrier(MPI_COMM_WORLD);
    if (size > 1 && rank == 0 && here[1]) {
        stop(processes[1]);
        EXPECT_EQ(gaspi_proc_ping(1, 50), GASPI_TIMEOUT) << "a message that it has not taken";
        constexpr gaspi_number_t bytes_by_messages = 11; // the counter
        unsigned long before = 0;
        unsigned long after = 0;
        EXPECT_EQ(gaspi_statistic_counter_get(bytes_by_messages, 0, &before), GASPI_SUCCESS);
        for (std::uint64_t i = 1; i <= 100; ++i) {
            *memory = i;
            EXPECT_EQ(gaspi_write_notify(0, 0, 1, 0, 8, 8, 1, 1, 0, GASPI_BLOCK), GASPI_SUCCESS);
        }
        EXPECT_EQ(gaspi_statistic_counter_get(bytes_by_messages, 0, &after), GASPI_SUCCESS);
        EXPECT_EQ(after - before, only_messages() ? 800U : 0U);
        EXPECT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS);
        ASSERT_EQ(kill(processes[1], SIGCONT), 0);
    }
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    if (rank == 1 && here[0]) {
        EXPECT_EQ(await(0, 1), 1U);
    }
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, tags_that_come_after_a_wait_give_no_room_twice) {
    make(0, 64);
    ASSERT_EQ(gaspi_operation_submit(GASPI_OP_WRITE_NOTIFY, 7, 0, 0, next, 0, 32, 8, 1, 1, 2, GASPI_BLOCK),
              GASPI_SUCCESS);
    gaspi_number_t posted = 9;
    EXPECT_EQ(gaspi_queue_size(2, &posted), GASPI_SUCCESS);
    EXPECT_EQ(posted, 2U);
    EXPECT_EQ(gaspi_wait(2, GASPI_BLOCK), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_write(0, 0, next, 0, 32, 8, 2, GASPI_BLOCK), GASPI_SUCCESS);
    gaspi_number_t found = 0;
    gaspi_tag_t tags[4];
    gaspi_status_t statuses[4];
    EXPECT_EQ(gaspi_request_wait(2, 2, &found, tags, statuses, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(found, 2U);
    EXPECT_EQ(gaspi_queue_size(2, &posted), GASPI_SUCCESS);
    EXPECT_LE(posted, 1U) << "it would be huge if it were less than nothing";
    EXPECT_EQ(gaspi_write(0, 0, next, 0, 32, 8, 2, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(await(0, 1), 1U);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, threads_share_one_queue) {
    constexpr unsigned threads = 32;
    constexpr unsigned each = 100;
    auto *const memory = reinterpret_cast<std::uint64_t *>(make(0, 2 * threads * sizeof(std::uint64_t)));
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            for (unsigned i = 1; i <= each; ++i) {
                memory[t] = 1000 * t + i;
                gaspi_return_t code = GASPI_QUEUE_FULL;
                while (code == GASPI_QUEUE_FULL) {
                    code = gaspi_write_notify(0, 8 * t, next, 0, 8 * (threads + t), 8, t, i, 1, GASPI_BLOCK);
                    if (code == GASPI_QUEUE_FULL) {
                        EXPECT_EQ(gaspi_wait(1, GASPI_BLOCK), GASPI_SUCCESS);
                    }
                }
                EXPECT_EQ(code, GASPI_SUCCESS);
                EXPECT_EQ(await(0, t), i);
                EXPECT_EQ(memory[threads + t], 1000 * t + i);
                EXPECT_EQ(gaspi_wait(1, GASPI_BLOCK), GASPI_SUCCESS);
                EXPECT_EQ(gaspi_notify(0, previous, threads + t, i, 2, GASPI_BLOCK), GASPI_SUCCESS);
                EXPECT_EQ(await(0, threads + t), i);
                EXPECT_EQ(gaspi_wait(2, GASPI_BLOCK), GASPI_SUCCESS);
            }
        });
    }
    for (std::thread &t : all) {
        t.join();
    }
    gaspi_number_t posted = 9;
    EXPECT_EQ(gaspi_queue_size(1, &posted), GASPI_SUCCESS);
    EXPECT_EQ(posted, 0U);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

} // namespace
