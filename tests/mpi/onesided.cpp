// SPDX-License-Identifier: BSD-3-Clause
// Spaces, segments, operations and notifications on the real MPI: by shared memory, and by messages with
// THENCE_ONESIDED=messages.
#include "onesided.hpp"

#include <array>
#include <numeric>
#include <vector>

namespace {

const std::size_t sizes[] = {0, 1, 8, 100, 4096, 8000, 8192, 70000, 1 << 20};

std::vector<unsigned char> pattern(std::size_t bytes, int seed) {
    std::vector<unsigned char> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        made[i] = static_cast<unsigned char>(i * 7 + static_cast<std::size_t>(seed));
    }
    return made;
}

TEST(onesided, says_how_each_part_is_reached) {
    const segment_of all(1000, 3);
    const std::vector<bool> here = on_this_host();
    for (int i = 0; i < all.size; ++i) {
        const thence_segment_info info = all.about(i);
        EXPECT_EQ(info.bytes, 1000U);
        EXPECT_EQ(info.notifications, 3U);
        EXPECT_EQ(info.memory != nullptr, i == all.rank);
        EXPECT_STREQ(info.transport, only_messages() || !here[static_cast<std::size_t>(i)] ? "messages" : "memory")
            << info.why;
        EXPECT_NE(info.why, nullptr);
    }
}

TEST(onesided, a_new_segment_is_zero_and_parts_may_differ) {
    const space_over_all all;
    thence_segment segment = nullptr;
    const auto bytes = static_cast<std::size_t>(100 * all.rank);
    ASSERT_EQ(thence_segment_create(all.space, bytes, static_cast<unsigned>(all.rank), &segment), MPI_SUCCESS);
    for (int i = 0; i < all.size; ++i) {
        thence_segment_info info{};
        thence_segment_query(segment, i, &info, sizeof info);
        EXPECT_EQ(info.bytes, static_cast<std::size_t>(100 * i));
        EXPECT_EQ(info.notifications, static_cast<unsigned>(i));
        if (i == all.rank) {
            const auto *const memory = static_cast<const unsigned char *>(info.memory);
            EXPECT_EQ(std::accumulate(memory, memory + bytes, 0), 0);
        }
    }
    EXPECT_EQ(thence_segment_free(&segment), MPI_SUCCESS);
    EXPECT_EQ(segment, nullptr);
}

TEST(onesided, data_are_there_when_their_notification_is) {
    const segment_of all(1 << 20, 4);
    std::uint32_t round = 0;
    for (const std::size_t bytes : sizes) {
        ++round;
        const std::vector<unsigned char> sent = pattern(bytes, all.rank);
        ASSERT_EQ(thence_put_notify(sent.data(), bytes, all.next(), all.segment, 0, 2, round, 0, nullptr), MPI_SUCCESS);
        ASSERT_EQ(all.await(2), round);
        const std::vector<unsigned char> expected = pattern(bytes, all.previous());
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), all.memory)) << bytes;
        EXPECT_EQ(thence_queue_flush(all.space, 0), MPI_SUCCESS);
        // The other may overwrite only what was looked at.
        ASSERT_EQ(thence_notify(all.previous(), all.segment, 3, round, 0), MPI_SUCCESS);
        ASSERT_EQ(all.await(3), round);
    }
}

TEST(onesided, local_completion_is_a_request_of_mpi) {
    const segment_of all(1 << 20, 2);
    for (const std::size_t bytes : sizes) {
        std::vector<unsigned char> sent = pattern(bytes, 5);
        MPI_Request request = MPI_REQUEST_NULL;
        ASSERT_EQ(thence_put_notify(sent.data(), bytes, all.next(), all.segment, 0, 0, 1, 1, &request), MPI_SUCCESS);
        int count = -1;
        EXPECT_EQ(thence_queue_size(all.space, 1, &count), MPI_SUCCESS);
        EXPECT_EQ(count, 0) << "it has a request, so it is not the queue's";
        while (request != MPI_REQUEST_NULL) {
            int flag = 0;
            ASSERT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
            thence_progress(); // the other process may wait for this one
        }
        std::fill(sent.begin(), sent.end(), 0);
        all.await(0);
        const std::vector<unsigned char> expected = pattern(bytes, 5);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), all.memory)) << bytes;
        thence_notify(all.previous(), all.segment, 1, 2, 1);
        all.await(1);
    }
}

TEST(onesided, gets_what_is_there) {
    const segment_of all(1 << 20, 1);
    const std::vector<unsigned char> mine = pattern(1 << 20, all.rank);
    std::copy(mine.begin(), mine.end(), all.memory);
    thence_notify(all.previous(), all.segment, 0, 1, 0);
    all.await(0);
    const std::vector<unsigned char> expected = pattern(1 << 20, all.next());
    for (const std::size_t bytes : sizes) {
        const std::size_t offset = ((1 << 20) - bytes) / 2;
        std::vector<unsigned char> got(bytes, 0);
        ASSERT_EQ(thence_get(got.data(), bytes, all.next(), all.segment, offset, 0, nullptr), MPI_SUCCESS);
        ASSERT_EQ(thence_queue_flush(all.space, 0), MPI_SUCCESS);
        EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin() + static_cast<long>(offset))) << bytes;
    }
}

TEST(onesided, atomics_lose_nothing) {
    const segment_of all(64, 1);
    constexpr int times = 200;
    for (int i = 0; i < times; ++i) {
        std::uint64_t old = UINT64_MAX;
        ASSERT_EQ(thence_fetch_add(3, 0, all.segment, 8, &old, 0, nullptr), MPI_SUCCESS);
        ASSERT_EQ(thence_queue_flush(all.space, 0), MPI_SUCCESS);
        EXPECT_EQ(old % 3, 0U);
    }
    // An increment by compare and swap.
    for (int i = 0; i < times; ++i) {
        std::uint64_t seen = 0;
        for (std::uint64_t old = 1; old != seen;) {
            seen = old == 1 ? 0 : old;
            old = 1;
            ASSERT_EQ(thence_compare_swap(seen, seen + 2, 0, all.segment, 16, &old, 1, nullptr), MPI_SUCCESS);
            ASSERT_EQ(thence_queue_flush(all.space, 1), MPI_SUCCESS);
        }
    }
    thence_notify(0, all.segment, 0, 1, 0);
    MPI_Request barrier = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    for (int flag = 0; flag == 0; thence_progress()) {
        MPI_Test(&barrier, &flag, MPI_STATUS_IGNORE);
    }
    if (all.rank == 0) {
        std::uint64_t words[8];
        std::memcpy(words, all.memory, sizeof words);
        EXPECT_EQ(words[1], static_cast<std::uint64_t>(3 * times * all.size));
        EXPECT_EQ(words[2], static_cast<std::uint64_t>(2 * times * all.size));
        all.await(0);
    }
}

TEST(onesided, a_list_arrives_before_its_notification) {
    const segment_of all(1 << 20, 2);
    thence_segment other = nullptr;
    ASSERT_EQ(thence_segment_create(all.space, 4096, 2, &other), MPI_SUCCESS);
    std::vector<unsigned char> large = pattern(300000, all.rank);
    std::vector<unsigned char> small = pattern(100, all.rank + 1);
    const thence_piece pieces[] = {{large.data(), large.size(), all.segment, 4096},
                                   {small.data(), small.size(), other, 50},
                                   {nullptr, 0, other, 4096},
                                   {small.data(), small.size(), all.segment, 0}};
    ASSERT_EQ(thence_put_list_notify(4, pieces, all.next(), other, 1, 9, 1, nullptr), MPI_SUCCESS);
    unsigned found = 77;
    ASSERT_EQ(thence_notification_wait(other, 0, 2, &found), MPI_SUCCESS);
    EXPECT_EQ(found, 1U);
    thence_segment_info info{};
    thence_segment_query(other, all.rank, &info, sizeof info);
    ASSERT_EQ(thence_queue_flush(all.space, 1), MPI_SUCCESS); // the list belongs to its queue
    large = pattern(300000, all.previous());
    small = pattern(100, all.previous() + 1);
    EXPECT_TRUE(std::equal(large.begin(), large.end(), all.memory + 4096));
    EXPECT_TRUE(std::equal(small.begin(), small.end(), all.memory));
    EXPECT_TRUE(std::equal(small.begin(), small.end(), static_cast<unsigned char *>(info.memory) + 50));
    EXPECT_EQ(thence_put_list(0, nullptr, all.next(), 0, nullptr), MPI_SUCCESS);

    std::vector<unsigned char> got(300000);
    std::vector<unsigned char> too(100);
    const thence_piece wanted[] = {{got.data(), got.size(), all.segment, 4096}, {too.data(), too.size(), other, 50}};
    ASSERT_EQ(thence_get_list(2, wanted, all.rank, 0, nullptr), MPI_SUCCESS);
    ASSERT_EQ(thence_queue_flush(all.space, 0), MPI_SUCCESS);
    EXPECT_EQ(got, large);
    EXPECT_EQ(too, small);

    std::fill(got.begin(), got.end(), std::uint8_t{0});
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(thence_get_list(2, wanted, all.next(), 0, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(got, pattern(300000, all.rank));
    EXPECT_EQ(too, pattern(100, all.rank + 1));
    MPI_Barrier(MPI_COMM_WORLD); // all have read what is written next
    ASSERT_EQ(thence_put_list_notify(2, wanted, all.next(), other, 0, 3, 1, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(thence_notification_wait(other, 0, 1, nullptr), MPI_SUCCESS);
    EXPECT_TRUE(std::equal(large.begin(), large.end(), all.memory + 4096));
    EXPECT_EQ(thence_segment_free(&other), MPI_SUCCESS);
}

TEST(onesided, memory_of_the_program_can_be_a_segment) {
    const space_over_all all;
    std::vector<std::uint64_t> memory(40000, 0);
    thence_segment segment = nullptr;
    ASSERT_EQ(thence_segment_create_on(all.space, memory.data(), 320000, 1, &segment), MPI_SUCCESS);
    thence_segment_info info{};
    thence_segment_query(segment, all.next(), &info, sizeof info);
    const bool here = on_this_host()[static_cast<std::size_t>(all.next())];
    EXPECT_STREQ(info.transport, only_messages() || !here ? "messages"
                                 : all.size == 1          ? "memory"
                                                          : "process_vm_writev")
        << info.why;
    const std::vector<unsigned char> sent = pattern(300000, all.rank);
    ASSERT_EQ(thence_put_notify(sent.data(), 300000, all.next(), segment, 8, 0, 4, 0, nullptr), MPI_SUCCESS);
    ASSERT_EQ(thence_notification_wait(segment, 0, 1, nullptr), MPI_SUCCESS);
    const std::vector<unsigned char> expected = pattern(300000, all.previous());
    EXPECT_EQ(std::memcmp(expected.data(), memory.data() + 1, 300000), 0);
    EXPECT_EQ(thence_queue_flush(all.space, 0), MPI_SUCCESS);
    // Atomic operations are messages here, and puts after them wait for them.
    std::uint64_t old = 1;
    ASSERT_EQ(thence_fetch_add(5, all.next(), segment, 0, &old, 0, nullptr), MPI_SUCCESS);
    ASSERT_EQ(thence_put_notify(nullptr, 0, all.next(), segment, 0, 0, 6, 0, nullptr), MPI_SUCCESS);
    std::uint32_t value = 0;
    ASSERT_EQ(thence_notification_reset(segment, 0, &value), MPI_SUCCESS);
    while (value != 6) {
        ASSERT_EQ(thence_notification_reset(segment, 0, &value), MPI_SUCCESS);
    }
    EXPECT_EQ(memory[0], 5U);
    EXPECT_EQ(thence_queue_flush(all.space, 0), MPI_SUCCESS);
    EXPECT_EQ(old, 0U);
    EXPECT_EQ(thence_segment_free(&segment), MPI_SUCCESS);
}

TEST(onesided, a_notification_is_taken_once_and_overwritten_until_then) {
    const segment_of all(0, 5);
    thence_notify(all.next(), all.segment, 4, 1, 0);
    thence_notify(all.next(), all.segment, 4, 2, 0);
    thence_notify(all.next(), all.segment, 0, 3, 0);
    all.await(0); // behind the others on one queue
    int flag = 0;
    unsigned found = 99;
    EXPECT_EQ(thence_notification_test(all.segment, 0, 4, &flag, &found), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(found, 99U);
    EXPECT_EQ(thence_notification_test(all.segment, 0, 5, &flag, &found), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(found, 4U);
    EXPECT_EQ(all.await(4), 2U);
    std::uint32_t value = 7;
    EXPECT_EQ(thence_notification_reset(all.segment, 4, &value), MPI_SUCCESS);
    EXPECT_EQ(value, 0U);
    EXPECT_EQ(thence_notification_test(all.segment, 5, 0, &flag, nullptr), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
}

TEST(onesided, a_request_waits_for_notifications) {
    const segment_of all(8, 200);
    std::array<std::uint32_t, 100> values{};
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(thence_notification_request(all.segment, 50, 100, values.data(), &request), MPI_SUCCESS);
    // One that arrives twice counts once.
    for (unsigned i = 0; i < 100; ++i) {
        const unsigned number = 50 + (i * 37) % 100;
        ASSERT_EQ(thence_notify(all.next(), all.segment, number, number + 1, 0), MPI_SUCCESS);
        ASSERT_EQ(thence_notify(all.next(), all.segment, 50, 51, 0), MPI_SUCCESS);
    }
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_EQ(values[i], 51 + i);
    }
    // Complete at once.
    thence_notify(all.next(), all.segment, 7, 8, 0);
    ASSERT_EQ(thence_notification_wait(all.segment, 7, 1, nullptr), MPI_SUCCESS);
    std::uint32_t value = 0;
    ASSERT_EQ(thence_notification_request(all.segment, 7, 1, &value, &request), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_EQ(value, 8U);
}

TEST(onesided, a_request_of_a_notification_can_be_continued) {
    const segment_of all(8, 2);
    MPI_Request cr = MPI_REQUEST_NULL;
    ASSERT_EQ(thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, &cr), MPI_SUCCESS);
    outcome arrived;
    std::uint32_t value = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(thence_notification_request(all.segment, 1, 1, &value, &request), MPI_SUCCESS);
    arrived.attach(request, cr);
    EXPECT_EQ(arrived.calls.load(), 0);
    thence_notify(all.next(), all.segment, 1, 11, 0);
    ASSERT_EQ(thence_wait(&cr, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(arrived.calls.load(), 1);
    EXPECT_EQ(value, 11U);
    thence_free(&cr);
}

struct counting {
    std::atomic<int> calls{0};
    static void called(void *data) { static_cast<counting *>(data)->calls.fetch_add(1); }
};

TEST(onesided, a_callback_is_called_once_for_each_arrival) {
    const segment_of all(8, 70);
    std::vector<counting> each(70);
    for (unsigned i = 0; i < 70; ++i) {
        int flag = 9;
        ASSERT_EQ(thence_notification_continue(all.segment, i, 1, nullptr, &counting::called, &each[i], &flag),
                  MPI_SUCCESS);
        if (flag != 0) { // the other process was faster
            each[i].calls = 1;
        }
        ASSERT_EQ(thence_notify(all.next(), all.segment, i, 1, 0), MPI_SUCCESS);
    }
    const auto all_called = [&] {
        return std::all_of(each.begin(), each.end(), [](const counting &c) { return c.calls.load() != 0; });
    };
    while (!all_called()) {
        thence_progress();
    }
    for (const counting &c : each) {
        EXPECT_EQ(c.calls.load(), 1);
    }
}

TEST(onesided, an_arrival_serves_the_oldest_that_waits) {
    const segment_of all(8, 3);
    std::array<counting, 2> both;
    int flag = 0;
    for (counting &each : both) {
        ASSERT_EQ(thence_notification_continue(all.segment, 0, 1, nullptr, &counting::called, &each, &flag),
                  MPI_SUCCESS);
        ASSERT_EQ(flag, 0);
    }
    thence_notify(all.previous(), all.segment, 2, 1, 0); // the other waits too
    all.await(2);
    thence_notify(all.next(), all.segment, 0, 1, 0);
    while (both[0].calls.load() == 0) {
        thence_progress();
    }
    EXPECT_EQ(both[1].calls.load(), 0);
    thence_notify(all.previous(), all.segment, 1, 1, 0);
    all.await(1); // the other has been served
    thence_notify(all.next(), all.segment, 0, 2, 0);
    while (both[1].calls.load() == 0) {
        thence_progress();
    }
    EXPECT_EQ(both[0].calls.load(), 1);
}

TEST(onesided, several_spaces_and_groups_that_overlap) {
    const segment_of all(64, 4);
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, all.rank % 2, -all.rank, &half);
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(half, &rank);
    MPI_Comm_size(half, &size);
    thence_space space = nullptr;
    ASSERT_EQ(thence_space_create(half, 1, &space), MPI_SUCCESS);
    thence_segment segment = nullptr;
    ASSERT_EQ(thence_segment_create(space, 64, 4, &segment), MPI_SUCCESS);
    thence_notify((rank + 1) % size, segment, 3, static_cast<std::uint32_t>(rank + 1), 0);
    thence_notify(all.next(), all.segment, 3, static_cast<std::uint32_t>(all.rank + 1), 0);
    ASSERT_EQ(thence_notification_wait(segment, 3, 1, nullptr), MPI_SUCCESS);
    std::uint32_t value = 0;
    thence_notification_reset(segment, 3, &value);
    EXPECT_EQ(value, static_cast<std::uint32_t>((rank + size - 1) % size + 1));
    EXPECT_EQ(all.await(3), static_cast<std::uint32_t>(all.previous() + 1));
    EXPECT_EQ(thence_segment_free(&segment), MPI_SUCCESS);
    EXPECT_EQ(thence_space_free(&space), MPI_SUCCESS);
    MPI_Comm_free(&half);
}

} // namespace
