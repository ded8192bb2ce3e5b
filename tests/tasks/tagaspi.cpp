// SPDX-License-Identifier: BSD-3-Clause
// TAGASPI on the real MPI, in tasks of any runtime. Each runtime makes a program of this file, tagaspi_main.cpp and its
// own find_runtime(). Tests that start more tasks than there are workers before what these wait for end only because no
// call keeps a worker.
#include "tagaspi_fixture.hpp"

#include <TAMPI.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <vector>

namespace {

using values = std::vector<gaspi_notification_t>;

TEST_F(tagaspi, tasks_that_wait_for_notifications_keep_no_worker) {
    int *const data = make<int>(1, 2 * many);
    values seen(many);
    std::atomic<int> asked{0};
    std::atomic<int> right{0};
    tasks all;
    for (int i = 0; i < many; ++i) {
        all.start(
            [&, i] {
                EXPECT_EQ(tagaspi_notify_iwait(1, static_cast<gaspi_notification_id_t>(i), &seen[i]), GASPI_SUCCESS);
                ++asked;
            },
            [&, i] { right += data[many + i] == 1000 * previous_rank + i && seen[i] == i + 1U ? 1 : 0; });
    }
    while (asked != many) {
        std::this_thread::yield();
    }
    EXPECT_EQ(all.running(), many);
    meet(); // nobody writes before all tasks of all ranks wait
    tasks writers;
    for (int i = 0; i < many; ++i) {
        writers.start([&, i] {
            data[i] = 1000 * rank + i;
            EXPECT_EQ(tagaspi_write_notify(1, i * sizeof(int), next, 1, (many + i) * sizeof(int), sizeof(int),
                                           static_cast<gaspi_notification_id_t>(i), i + 1U,
                                           static_cast<gaspi_queue_id_t>(i % 8)),
                      GASPI_SUCCESS);
        });
    }
    writers.wait();
    all.wait();
    EXPECT_EQ(right, many);
    meet();
}

TEST_F(tagaspi, nothing_is_bound_for_a_notification_that_has_arrived) {
    make<int>(1, 1);
    meet();
    ASSERT_EQ(gaspi_notify(1, next, 7, 70, 0, GASPI_BLOCK), GASPI_SUCCESS);
    gaspi_notification_id_t found = 0;
    ASSERT_EQ(gaspi_notify_waitsome(1, 7, 1, &found, GASPI_BLOCK), GASPI_SUCCESS);
    gaspi_notification_t seen = 0;
    tasks all;
    all.start([&] {
        EXPECT_EQ(tagaspi_notify_async_wait(1, 7, &seen), GASPI_SUCCESS);
        EXPECT_EQ(seen, 70U); // at once
    });
    all.wait();
    gaspi_notification_t left = 1;
    EXPECT_EQ(gaspi_notify_reset(1, 7, &left), GASPI_SUCCESS);
    EXPECT_EQ(left, 0U);
    meet();
}

TEST_F(tagaspi, a_range_is_complete_when_each_notification_of_it_has_arrived) {
    constexpr gaspi_number_t count = 5;
    make<int>(1, 1);
    values seen(count);
    std::atomic<bool> complete{false};
    std::atomic<int> asked{0};
    tasks all;
    all.start(
        [&] {
            EXPECT_EQ(tagaspi_notify_iwaitall(1, 10, count, seen.data()), GASPI_SUCCESS);
            ++asked;
        },
        [&] { complete = true; });
    all.start([&] {
        EXPECT_EQ(tagaspi_notify_async_waitall(1, 20, 2, GASPI_NOTIFICATION_IGNORE), GASPI_SUCCESS);
        ++asked;
    });
    while (asked != 2) {
        std::this_thread::yield();
    }
    // The first arrives as often as all others together: it counts once, and what comes after that stays.
    gaspi_notification_id_t found = 0;
    ASSERT_EQ(gaspi_notify(1, static_cast<gaspi_rank_t>(rank), 10, 1, 0, GASPI_BLOCK), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_notify(1, static_cast<gaspi_rank_t>(rank), 9, 1, 0, GASPI_BLOCK), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_notify_waitsome(1, 9, 1, &found, GASPI_BLOCK), GASPI_SUCCESS); // so the one before has arrived
    while (gaspi_notify_waitsome(1, 10, 1, &found, GASPI_TEST) != GASPI_TIMEOUT) {
        std::this_thread::yield(); // until it is taken: a second arrival would overwrite it
    }
    for (gaspi_notification_t i = 2; i < count; ++i) {
        ASSERT_EQ(gaspi_notify(1, static_cast<gaspi_rank_t>(rank), 10, i, 0, GASPI_BLOCK), GASPI_SUCCESS);
        EXPECT_EQ(gaspi_notify_waitsome(1, 10, 1, &found, GASPI_BLOCK), GASPI_SUCCESS);
    }
    EXPECT_FALSE(complete);
    for (gaspi_notification_id_t i = 1; i < count; ++i) {
        ASSERT_EQ(gaspi_notify(1, static_cast<gaspi_rank_t>(rank), 10 + i, 100 + i, 0, GASPI_BLOCK), GASPI_SUCCESS);
    }
    for (gaspi_notification_id_t i = 0; i < 2; ++i) {
        ASSERT_EQ(gaspi_notify(1, next, 20 + i, 1, 0, GASPI_BLOCK), GASPI_SUCCESS);
    }
    all.wait();
    EXPECT_TRUE(complete);
    EXPECT_EQ(seen, (values{1, 101, 102, 103, 104}));
    meet();
}

TEST_F(tagaspi, each_arrival_serves_one_of_the_tasks_that_wait_for_it) {
    make<int>(1, 1);
    std::atomic<unsigned> sum{0};
    tasks all;
    values seen(many);
    for (int i = 0; i < many; ++i) {
        all.start([&, i] { EXPECT_EQ(tagaspi_notify_iwait(1, 3, &seen[i]), GASPI_SUCCESS); },
                  [&, i] { sum += seen[i]; });
    }
    unsigned expected = 0;
    for (unsigned i = 1; i <= many; ++i) {
        ASSERT_EQ(gaspi_notify(1, static_cast<gaspi_rank_t>(rank), 3, i, 0, GASPI_BLOCK), GASPI_SUCCESS);
        expected += i;
        while (sum != expected) { // a second arrival before that would overwrite it
            std::this_thread::yield();
        }
    }
    all.wait();
    EXPECT_EQ(sum, expected);
    meet();
}

TEST_F(tagaspi, what_depends_on_a_read_has_the_data) {
    constexpr gaspi_size_t large = 300000; // more than goes in a packet
    int *const data = make<int>(1, 2 * large);
    std::iota(data, data + large, 10 * rank);
    meet();
    std::atomic<int> right{0};
    tasks all;
    all.start(
        [&] {
            EXPECT_EQ(tagaspi_read(1, large * sizeof(int), next, 1, 0, (large - 4) * sizeof(int), 0), GASPI_SUCCESS);
            std::array<gaspi_segment_id_t, 2> segments{1, 1};
            std::array<gaspi_offset_t, 2> to{(2 * large - 4) * sizeof(int), (2 * large - 2) * sizeof(int)};
            std::array<gaspi_offset_t, 2> from{(large - 4) * sizeof(int), (large - 2) * sizeof(int)};
            std::array<gaspi_size_t, 2> sizes{2 * sizeof(int), 2 * sizeof(int)};
            EXPECT_EQ(
                tagaspi_read_list(2, segments.data(), to.data(), next, segments.data(), from.data(), sizes.data(), 1),
                GASPI_SUCCESS);
        },
        [&] {
            bool same = true;
            for (gaspi_size_t i = 0; i < large; ++i) {
                same = same && data[large + i] == 10 * next_rank + static_cast<int>(i);
            }
            right += same ? 1 : 0;
        });
    all.wait();
    EXPECT_EQ(right, 1);
    meet();
}

TEST_F(tagaspi, a_read_sets_a_notification_of_this_process) {
    constexpr gaspi_size_t large = 100000;
    int *const data = make<int>(1, 3 * large);
    std::iota(data, data + large, 7 * rank);
    meet();
    std::atomic<int> right{0};
    tasks all;
    const auto same = [&](gaspi_size_t begin) {
        return data[begin] == 7 * next_rank && data[begin + large - 1] == 7 * next_rank + static_cast<int>(large) - 1;
    };
    all.start([] { EXPECT_EQ(tagaspi_notify_iwait(1, 5, GASPI_NOTIFICATION_IGNORE), GASPI_SUCCESS); },
              [&] { right += same(large) ? 1 : 0; });
    all.start([] { EXPECT_EQ(tagaspi_notify_iwait(1, 6, GASPI_NOTIFICATION_IGNORE), GASPI_SUCCESS); },
              [&] { right += same(2 * large) ? 1 : 0; });
    all.start([&] {
        EXPECT_EQ(tagaspi_read_notify(1, large * sizeof(int), next, 1, 0, large * sizeof(int), 5, 0), GASPI_SUCCESS);
    });
    all.start([&] {
        std::array<gaspi_segment_id_t, 2> segments{1, 1};
        std::array<gaspi_offset_t, 2> to{2 * large * sizeof(int), (2 * large + large / 2) * sizeof(int)};
        std::array<gaspi_offset_t, 2> from{0, large / 2 * sizeof(int)};
        std::array<gaspi_size_t, 2> sizes{large / 2 * sizeof(int), large / 2 * sizeof(int)};
        EXPECT_EQ(tagaspi_read_list_notify(2, segments.data(), to.data(), next, segments.data(), from.data(),
                                           sizes.data(), 1, 6, 1),
                  GASPI_SUCCESS);
    });
    all.wait();
    EXPECT_EQ(right, 2);
    meet();
}

TEST_F(tagaspi, what_depends_on_a_write_may_overwrite_the_data) {
    constexpr gaspi_size_t large = 300000;
    constexpr gaspi_number_t pieces = 6; // more than fit on the stack of the call
    int *const data = make<int>(1, 2 * large);
    std::iota(data, data + large, 3 * rank);
    std::atomic<int> right{0};
    tasks all;
    all.start([] { EXPECT_EQ(tagaspi_notify_iwait(1, 1, GASPI_NOTIFICATION_IGNORE), GASPI_SUCCESS); },
              [&] {
                  bool same = true;
                  for (gaspi_size_t i = 0; i < large; ++i) {
                      same = same && data[large + i] == 3 * previous_rank + static_cast<int>(i);
                  }
                  right += same ? 1 : 0;
              });
    all.start(
        [&] {
            std::array<gaspi_segment_id_t, pieces> segments;
            std::array<gaspi_offset_t, pieces> from;
            std::array<gaspi_offset_t, pieces> to;
            std::array<gaspi_size_t, pieces> sizes;
            segments.fill(1);
            sizes.fill(large / pieces * sizeof(int));
            for (gaspi_number_t i = 0; i < pieces; ++i) {
                from[i] = i * sizes[i];
                to[i] = large * sizeof(int) + from[i];
            }
            EXPECT_EQ(tagaspi_write(1, 0, next, 1, large * sizeof(int), sizeof(int), 3), GASPI_SUCCESS);
            EXPECT_EQ(
                tagaspi_write_list(2, segments.data(), from.data(), next, segments.data(), to.data(), sizes.data(), 3),
                GASPI_SUCCESS);
            EXPECT_EQ(tagaspi_write_list_notify(pieces, segments.data(), from.data(), next, segments.data(), to.data(),
                                                sizes.data(), 1, 1, 1, 3),
                      GASPI_SUCCESS);
        },
        [&] { std::fill_n(data, large, -1); });
    all.wait();
    EXPECT_EQ(right, 1);
    meet();
}

TEST_F(tagaspi, one_task_binds_messages_of_mpi_and_notifications) {
    int *const data = make<int>(1, 2);
    int received = -1;
    MPI_Status status{};
    std::atomic<int> right{0};
    tasks all;
    all.start(
        [&] {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&received, 1, MPI_INT, previous_rank, 4, MPI_COMM_WORLD, &request);
            EXPECT_EQ(TAMPI_Iwait(&request, &status), MPI_SUCCESS);
            EXPECT_EQ(tagaspi_notify_iwait(1, 0, GASPI_NOTIFICATION_IGNORE), GASPI_SUCCESS);
        },
        [&] { right += data[1] == previous_rank && received == previous_rank && status.MPI_TAG == 4 ? 1 : 0; });
    meet();
    all.start([&] {
        data[0] = rank;
        EXPECT_EQ(tagaspi_write_notify(1, 0, next, 1, sizeof(int), sizeof(int), 0, 1, 0), GASPI_SUCCESS);
    });
    all.start([&] { EXPECT_EQ(MPI_Ssend(&rank, 1, MPI_INT, next_rank, 4, MPI_COMM_WORLD), MPI_SUCCESS); });
    all.wait();
    EXPECT_EQ(right, 1);
    meet();
}

TEST_F(tagaspi, outside_of_a_task_calls_wait) {
    constexpr gaspi_size_t large = 300000;
    int *const data = make<int>(1, 2 * large);
    std::iota(data, data + large, rank);
    meet();
    ASSERT_EQ(tagaspi_write_notify(1, 0, next, 1, large * sizeof(int), large * sizeof(int), 2, 22, 0), GASPI_SUCCESS);
    std::fill_n(data, large, 100 + rank);
    gaspi_notification_t seen = 0;
    ASSERT_EQ(tagaspi_notify_iwait(1, 2, &seen), GASPI_SUCCESS);
    EXPECT_EQ(seen, 22U);
    EXPECT_EQ(data[2 * large - 1], previous_rank + static_cast<int>(large) - 1);
    meet();
    ASSERT_EQ(tagaspi_read(1, large * sizeof(int), next, 1, 0, large * sizeof(int), 0), GASPI_SUCCESS);
    EXPECT_EQ(data[2 * large - 1], 100 + next_rank);
    meet();
}

TEST_F(tagaspi, the_end_waits_for_what_is_outstanding) {
    make<int>(1, 1);
    std::atomic<bool> asked{false};
    tasks all;
    all.start([&] {
        EXPECT_EQ(tagaspi_notify_iwait(1, 2, GASPI_NOTIFICATION_IGNORE), GASPI_SUCCESS);
        asked = true;
    });
    while (!asked) {
        std::this_thread::yield();
    }
    EXPECT_EQ(tagaspi_proc_term(GASPI_TEST), GASPI_TIMEOUT);
    EXPECT_EQ(tagaspi_proc_term(5), GASPI_TIMEOUT);
    EXPECT_EQ(gaspi_segment_delete(1), GASPI_ERROR); // a task waits for a notification of it
    meet();
    EXPECT_EQ(tagaspi_notify(1, next, 2, 1, 0), GASPI_SUCCESS);
    all.wait();
    meet();
    EXPECT_EQ(gaspi_segment_delete(1), GASPI_SUCCESS);
    meet();
    make<int>(1, 1); // with other memory
    all.start([] { EXPECT_EQ(tagaspi_notify_iwait(1, 2, GASPI_NOTIFICATION_IGNORE), GASPI_SUCCESS); });
    EXPECT_EQ(tagaspi_notify(1, next, 2, 1, 0), GASPI_SUCCESS);
    all.wait();
    meet();
}

TEST_F(tagaspi, queues_are_never_full) {
    make<int>(1, 1);
    gaspi_number_t room = 0;
    gaspi_queue_size_max(&room);
    tasks all;
    all.start([&] {
        for (gaspi_number_t i = 0; i <= room; ++i) {
            EXPECT_EQ(tagaspi_notify(1, next, 1, 1, 0), GASPI_SUCCESS);
        }
    });
    all.wait();
    gaspi_number_t counted = 1;
    EXPECT_EQ(gaspi_queue_size(0, &counted), GASPI_SUCCESS);
    EXPECT_EQ(counted, 0U);
    meet();
}

} // namespace
