// SPDX-License-Identifier: BSD-3-Clause
// Segments and groups of GASPI in any order, what a notification is worth while several take it, and the end with work
// left. Where GPI-2 had faults, as its tracker tells.
#include "gaspi.hpp"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

TEST_F(gaspi, memory_of_the_program_counts_as_a_segment_and_no_number_is_used_twice) {
    std::vector<std::uint64_t> memory(100, rank);
    gaspi_number_t number = 9;
    EXPECT_EQ(gaspi_segment_num(&number), GASPI_SUCCESS);
    EXPECT_EQ(number, 0U);
    ASSERT_EQ(gaspi_segment_bind(5, memory.data(), 800, 0), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_segment_bind(5, memory.data(), 800, 0), GASPI_ERR_INV_SEG);
    EXPECT_EQ(gaspi_segment_alloc(5, 8, GASPI_MEM_INITIALIZED), GASPI_ERR_INV_SEG);
    EXPECT_EQ(gaspi_segment_num(&number), GASPI_SUCCESS);
    EXPECT_EQ(number, 1U);
    gaspi_segment_id_t list[2] = {99, 99};
    EXPECT_EQ(gaspi_segment_list(2, list), GASPI_SUCCESS);
    EXPECT_EQ(list[0], 5);
    EXPECT_EQ(list[1], 99);
    gaspi_pointer_t where = nullptr;
    EXPECT_EQ(gaspi_segment_ptr(5, &where), GASPI_SUCCESS);
    EXPECT_EQ(where, memory.data());
    ASSERT_EQ(gaspi_segment_register(5, previous, GASPI_BLOCK), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_write_notify(5, 0, next, 5, 80, 8, 1, 1, 0, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(await(5, 1), 1U);
    EXPECT_EQ(memory[10], previous);
    ASSERT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_segment_delete(5), GASPI_SUCCESS);
    EXPECT_EQ(memory[10], previous) << "it is the program's";
}

TEST_F(gaspi, segments_are_made_one_after_the_other_without_a_barrier) {
    constexpr gaspi_segment_id_t many = 20;
    for (gaspi_segment_id_t i = 0; i < many; ++i) {
        ASSERT_EQ(gaspi_segment_alloc(i, 100 + i, GASPI_MEM_INITIALIZED), GASPI_SUCCESS);
        for (gaspi_rank_t r = 0; r < size; ++r) {
            ASSERT_EQ(gaspi_segment_register(i, r, GASPI_BLOCK), GASPI_SUCCESS);
        }
    }
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    for (gaspi_segment_id_t i = 0; i < many; ++i) {
        ASSERT_EQ(gaspi_notify(i, next, 2, 1U + i, 0, GASPI_BLOCK), GASPI_SUCCESS);
    }
    for (gaspi_segment_id_t i = 0; i < many; ++i) {
        EXPECT_EQ(await(i, 2), 1U + i);
    }
}

TEST_F(gaspi, segments_and_groups_are_deleted_in_another_order_by_each_rank) {
    for (int round = 0; round < 3; ++round) {
        gaspi_group_t groups[3] = {};
        for (gaspi_segment_id_t i = 0; i < 3; ++i) {
            ASSERT_EQ(gaspi_group_create(&groups[i]), GASPI_SUCCESS);
            for (gaspi_rank_t r = 0; r < size; ++r) {
                ASSERT_EQ(gaspi_group_add(groups[i], r), GASPI_SUCCESS);
            }
            ASSERT_EQ(gaspi_group_commit(groups[i], GASPI_BLOCK), GASPI_SUCCESS);
            ASSERT_EQ(gaspi_segment_create(i, 1000, groups[i], GASPI_BLOCK, GASPI_MEM_INITIALIZED), GASPI_SUCCESS);
        }
        for (gaspi_segment_id_t i = 0; i < 3; ++i) {
            ASSERT_EQ(gaspi_write_notify(i, 0, next, i, 500, 8, i, 1, 0, GASPI_BLOCK), GASPI_SUCCESS);
            EXPECT_EQ(await(i, i), 1U);
        }
        ASSERT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS);
        for (int i = 0; i < 3; ++i) {
            const int which = (i + rank) % 3;
            const bool group_first = (rank + round) % 2 == 0;
            for (int turn = 0; turn < 2; ++turn) {
                if ((turn == 0) == group_first) {
                    EXPECT_EQ(gaspi_group_delete(groups[which]), GASPI_SUCCESS);
                } else {
                    EXPECT_EQ(gaspi_segment_delete(static_cast<gaspi_segment_id_t>(which)), GASPI_SUCCESS);
                }
            }
        }
        // What the others wrote may be on its way to a part that is deleted. It does not reach one made anew.
        ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    }
}

TEST_F(gaspi, of_several_threads_one_takes_each_notification) {
    make(0, 8);
    constexpr gaspi_notification_t last = 3000;
    std::vector<std::atomic<int>> times(last + 1);
    std::atomic<bool> over{false};
    std::vector<std::thread> takers;
    for (int t = 0; t < 3; ++t) {
        takers.emplace_back([&] {
            while (!over) {
                gaspi_notification_t value = 0;
                EXPECT_EQ(gaspi_notify_reset(0, 7, &value), GASPI_SUCCESS);
                if (value != 0) {
                    ++times[value];
                    if (value == last) {
                        over = true;
                    }
                }
            }
        });
    }
    for (gaspi_notification_t i = 1; i <= last; ++i) {
        gaspi_return_t code = GASPI_QUEUE_FULL;
        while ((code = gaspi_notify(0, next, 7, i, 0, GASPI_BLOCK)) == GASPI_QUEUE_FULL) {
            EXPECT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS);
        }
        ASSERT_EQ(code, GASPI_SUCCESS);
    }
    for (std::thread &t : takers) {
        t.join();
    }
    EXPECT_TRUE(std::ranges::all_of(times, [](const std::atomic<int> &each) { return each <= 1; }));
    EXPECT_EQ(times[last], 1) << "nothing replaces the last";
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, a_thread_that_waits_without_end_does_not_delay_time_outs_of_others) {
    make(0, 8);
    std::thread waits([] { EXPECT_EQ(await(0, 3), 1U); });
    std::thread receives([this] {
        gaspi_rank_t from = 0;
        EXPECT_EQ(gaspi_passive_receive(0, 0, &from, 8, GASPI_BLOCK), GASPI_SUCCESS);
        EXPECT_EQ(from, previous);
    });
    double best = 1e9;
    for (int i = 0; i < 60 && best > 50; ++i) {
        best = std::min(best, ms_of([] {
                            gaspi_notification_id_t id = 0;
                            EXPECT_EQ(gaspi_notify_waitsome(0, 5, 1, &id, 30), GASPI_TIMEOUT);
                        }));
    }
    EXPECT_LE(best, 50);
    ASSERT_EQ(gaspi_notify(0, next, 3, 1, 0, GASPI_BLOCK), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_passive_send(0, 0, next, 8, GASPI_BLOCK), GASPI_SUCCESS);
    waits.join();
    receives.join();
}

// Another thread is in a call on the segment, or is about to begin one: so the segment is made again if it is deleted.
void expect_that_it_is_not_deleted(gaspi_segment_id_t number) {
    gaspi_return_t code = GASPI_SUCCESS;
    for (int i = 0; i < 10'000 && code == GASPI_SUCCESS; ++i) {
        sleep_ms(1); // it is there for longer than it is not
        code = gaspi_segment_delete(number);
        if (code == GASPI_SUCCESS) {
            ASSERT_EQ(gaspi_segment_alloc(number, 64, GASPI_MEM_INITIALIZED), GASPI_SUCCESS);
        }
    }
    EXPECT_EQ(code, GASPI_ERROR);
}

TEST_F(gaspi, a_segment_is_not_deleted_while_another_thread_waits_for_its_notifications) {
    make(0, 64);
    ASSERT_EQ(gaspi_segment_alloc(1, 64, GASPI_MEM_INITIALIZED), GASPI_SUCCESS);
    std::thread waits([] {
        gaspi_notification_id_t id = 0;
        gaspi_return_t code = GASPI_ERR_INV_SEG;
        while (code == GASPI_ERR_INV_SEG) {
            code = gaspi_notify_waitsome(1, 0, 10, &id, GASPI_BLOCK);
        }
        EXPECT_EQ(code, GASPI_SUCCESS);
        EXPECT_EQ(id, 4U);
    });
    expect_that_it_is_not_deleted(1);
    EXPECT_EQ(gaspi_notify(1, rank, 4, 1, 0, GASPI_BLOCK), GASPI_SUCCESS);
    waits.join();
    EXPECT_EQ(gaspi_segment_delete(1), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, a_segment_is_not_deleted_while_another_thread_receives_into_it) {
    make(0, 64);
    ASSERT_EQ(gaspi_segment_alloc(1, 64, GASPI_MEM_INITIALIZED), GASPI_SUCCESS);
    std::thread receives([this] {
        gaspi_rank_t from = 0;
        gaspi_return_t code = GASPI_ERR_INV_SEG;
        while (code == GASPI_ERR_INV_SEG) {
            code = gaspi_passive_receive(1, 0, &from, 8, GASPI_BLOCK);
        }
        EXPECT_EQ(code, GASPI_SUCCESS);
        EXPECT_EQ(from, rank);
    });
    expect_that_it_is_not_deleted(1);
    EXPECT_EQ(gaspi_passive_send(0, 0, rank, 8, GASPI_BLOCK), GASPI_SUCCESS);
    receives.join();
    EXPECT_EQ(gaspi_segment_delete(1), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, a_segment_may_be_deleted_beside_calls_that_use_it) {
    constexpr gaspi_size_t bytes = 40'000; // more than a page of the segment, and than a packet
    make(0, 2 * bytes);
    ASSERT_EQ(gaspi_segment_alloc(1, bytes, GASPI_MEM_INITIALIZED), GASPI_SUCCESS);
    std::atomic<bool> over{false};
    const auto until_it_is_over = [&](auto call) {
        return std::thread([&over, call] {
            while (!over) {
                const gaspi_return_t code = call();
                if (code == GASPI_QUEUE_FULL) {
                    EXPECT_EQ(gaspi_wait(1, GASPI_BLOCK), GASPI_SUCCESS);
                } else {
                    EXPECT_TRUE(code == GASPI_SUCCESS || code == GASPI_TIMEOUT || code == GASPI_ERR_INV_SEG) << code;
                }
            }
        });
    };
    std::thread users[] = {
        until_it_is_over([this] { return gaspi_write_notify(1, 0, next, 0, 0, bytes, 3, 1, 1, GASPI_BLOCK); }),
        until_it_is_over([this] { return gaspi_read_notify(1, 0, next, 0, bytes, bytes, 5, 1, GASPI_BLOCK); }),
        until_it_is_over([] {
            gaspi_notification_t value = 0;
            return gaspi_notify_reset(1, 5, &value);
        }),
        until_it_is_over([] {
            gaspi_notification_id_t id = 0;
            return gaspi_notify_waitsome(1, 6, 8, &id, GASPI_TEST);
        })};
    const auto begun = std::chrono::steady_clock::now(); // on a loaded machine some call is always inside
    for (int deleted = 0; deleted < 200 && std::chrono::steady_clock::now() - begun < std::chrono::seconds(2);) {
        const gaspi_return_t code = gaspi_segment_delete(1);
        if (code == GASPI_SUCCESS) {
            ++deleted;
            EXPECT_EQ(gaspi_segment_alloc(1, bytes, GASPI_MEM_INITIALIZED), GASPI_SUCCESS);
        } else {
            EXPECT_EQ(code, GASPI_ERROR);
            std::this_thread::yield();
        }
    }
    over = true;
    for (std::thread &each : users) {
        each.join();
    }
    EXPECT_EQ(gaspi_wait(1, GASPI_BLOCK), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, the_end_waits_for_work_that_nobody_has_waited_for) {
    make(0, 4'000'000);
    for (gaspi_queue_id_t queue = 0; queue < 8; ++queue) {
        ASSERT_EQ(gaspi_write(0, 0, next, 0, 2'000'000, 2'000'000, queue, GASPI_BLOCK), GASPI_SUCCESS);
        ASSERT_EQ(gaspi_operation_submit(GASPI_OP_READ, 9, 0, 0, next, 0, 1'000'000, 300'000, 0, 0, queue, GASPI_BLOCK),
                  GASPI_SUCCESS);
    }
    gaspi_atomic_value_t old = 0;
    for (gaspi_offset_t i = 0; i < 4; ++i) {
        const gaspi_return_t code = gaspi_atomic_fetch_add(0, 8 * i, next, i, &old, GASPI_TEST);
        EXPECT_TRUE(code == GASPI_SUCCESS || code == GASPI_TIMEOUT);
    }
    ASSERT_EQ(gaspi_passive_send(0, 0, next, 1000, GASPI_BLOCK), GASPI_SUCCESS) << "nobody receives it";
    EXPECT_EQ(gaspi_proc_term(GASPI_BLOCK), GASPI_SUCCESS);
}

} // namespace
