// SPDX-License-Identifier: BSD-3-Clause
// GASPI beside MPI in one program: segments, operations, notifications, groups, passive messages, and errors.
#include "gaspi.hpp"

#include <GASPI_Threads.h>

#include <numeric>
#include <thread>
#include <vector>

namespace {

TEST_F(gaspi, ranks_are_those_of_mpi) {
    int of_mpi = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &of_mpi);
    EXPECT_EQ(rank, of_mpi);
    gaspi_number_t initialized = 0;
    EXPECT_EQ(gaspi_initialized(&initialized), GASPI_SUCCESS);
    EXPECT_EQ(initialized, 1U);
    EXPECT_EQ(gaspi_proc_init(GASPI_BLOCK), GASPI_ERR_INITED);
    EXPECT_EQ(gaspi_proc_ping(next, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_proc_ping(size, GASPI_BLOCK), GASPI_ERR_INV_RANK);
}

TEST_F(gaspi, a_written_block_is_there_when_its_notification_is) {
    constexpr gaspi_size_t bytes = 200000;
    unsigned char *const memory = make(7, 2 * bytes);
    for (unsigned round = 1; round <= 5; ++round) {
        std::fill_n(memory, bytes, static_cast<unsigned char>(rank + round));
        ASSERT_EQ(gaspi_write_notify(7, 0, next, 7, bytes, bytes, 3, round, 2, GASPI_BLOCK), GASPI_SUCCESS);
        EXPECT_EQ(await(7, 3), round);
        EXPECT_TRUE(std::all_of(memory + bytes, memory + 2 * bytes, [&](unsigned char each) {
            return each == static_cast<unsigned char>(previous + round);
        }));
        ASSERT_EQ(gaspi_wait(2, GASPI_BLOCK), GASPI_SUCCESS);
        ASSERT_EQ(gaspi_notify(7, previous, 4, 1, 2, GASPI_BLOCK), GASPI_SUCCESS);
        await(7, 4);
    }
}

TEST_F(gaspi, reads_tell_by_a_notification_when_all_is_here) {
    constexpr gaspi_number_t pieces = 50;
    constexpr gaspi_size_t bytes = 12000;
    unsigned char *const memory = make(0, 2 * pieces * bytes);
    std::fill_n(memory, pieces * bytes, static_cast<unsigned char>(rank + 1));
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    std::vector<gaspi_segment_id_t> segments(pieces, 0);
    std::vector<gaspi_offset_t> to(pieces);
    std::vector<gaspi_offset_t> from(pieces);
    std::vector<gaspi_size_t> sizes(pieces, bytes);
    for (gaspi_number_t i = 0; i < pieces; ++i) {
        from[i] = i * bytes;
        to[i] = (pieces + i) * bytes;
    }
    ASSERT_EQ(gaspi_read_list_notify(pieces, segments.data(), to.data(), next, segments.data(), from.data(),
                                     sizes.data(), 0, 9, 0, GASPI_BLOCK),
              GASPI_SUCCESS);
    EXPECT_EQ(await(0, 9), 1U);
    EXPECT_TRUE(std::all_of(memory + pieces * bytes, memory + 2 * pieces * bytes,
                            [&](unsigned char each) { return each == static_cast<unsigned char>(next + 1); }));
    EXPECT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, parts_are_made_by_one_process_and_told_to_another) {
    ASSERT_EQ(gaspi_segment_alloc(static_cast<gaspi_segment_id_t>(rank), 1000 + rank, GASPI_MEM_INITIALIZED),
              GASPI_SUCCESS);
    ASSERT_EQ(gaspi_segment_register(static_cast<gaspi_segment_id_t>(rank), next, GASPI_BLOCK), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    gaspi_size_t bytes = 0;
    EXPECT_EQ(gaspi_segment_size(static_cast<gaspi_segment_id_t>(previous), previous, &bytes), GASPI_SUCCESS);
    EXPECT_EQ(bytes, 1000U + previous);
    EXPECT_EQ(gaspi_notify(static_cast<gaspi_segment_id_t>(previous), previous, 1, 5, 0, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(await(static_cast<gaspi_segment_id_t>(rank), 1), 5U);
    if (size > 2) { // the part was not told to all
        EXPECT_EQ(gaspi_notify(static_cast<gaspi_segment_id_t>(next), next, 1, 5, 0, GASPI_BLOCK), GASPI_ERR_INV_SEG);
    }
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_segment_delete(static_cast<gaspi_segment_id_t>(rank)), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_segment_delete(static_cast<gaspi_segment_id_t>(rank)), GASPI_ERR_INV_SEG);
}

TEST_F(gaspi, time_outs_are_kept) {
    make(0, 64);
    gaspi_notification_id_t id = 0;
    double took = ms_of([&] { EXPECT_EQ(gaspi_notify_waitsome(0, 0, 10, &id, 50), GASPI_TIMEOUT); });
    EXPECT_GE(took, 50);
    EXPECT_EQ(gaspi_notify_waitsome(0, 0, 10, &id, GASPI_TEST), GASPI_TIMEOUT);
    gaspi_rank_t from = 0;
    took = ms_of([&] { EXPECT_EQ(gaspi_passive_receive(0, 0, &from, 8, 30), GASPI_TIMEOUT); });
    EXPECT_GE(took, 30);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    if (size > 1) {
        if (rank != 0) {
            EXPECT_EQ(gaspi_barrier(GASPI_GROUP_ALL, 20), GASPI_TIMEOUT) << "rank 0 comes later";
            int in = 0;
            int out = 0;
            EXPECT_EQ(gaspi_allreduce(&in, &out, 1, GASPI_OP_SUM, GASPI_TYPE_INT, GASPI_GROUP_ALL, GASPI_TEST),
                      GASPI_ERR_ACTIVE_COLL);
        } else {
            sleep_ms(500);
        }
        EXPECT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    }
}

TEST_F(gaspi, passive_messages_find_their_receiver) {
    unsigned char *const memory = make(0, 100000);
    gaspi_size_t most = 0;
    gaspi_passive_transfer_size_max(&most);
    std::fill_n(memory, most, static_cast<unsigned char>(rank + 1));
    ASSERT_EQ(gaspi_passive_send(0, 0, next, most, GASPI_BLOCK), GASPI_SUCCESS);
    std::fill_n(memory, most, static_cast<unsigned char>(0)); // it may be written again
    gaspi_rank_t from = 99;
    ASSERT_EQ(gaspi_passive_receive(0, 0, &from, most, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(from, previous);
    EXPECT_EQ(std::count(memory, memory + most, static_cast<unsigned char>(previous + 1)), static_cast<long>(most));
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, atomics_and_reductions) {
    make(0, 64);
    gaspi_atomic_value_t old = 0;
    for (int i = 0; i < 50; ++i) {
        ASSERT_EQ(gaspi_atomic_fetch_add(0, 8, 0, 1, &old, GASPI_BLOCK), GASPI_SUCCESS);
    }
    EXPECT_EQ(gaspi_atomic_fetch_add(0, 4, 0, 1, &old, GASPI_BLOCK), GASPI_ERR_UNALIGN_OFF);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_atomic_compare_swap(0, 8, 0, 0, 1, &old, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(old, 50UL * size) << "it is not 0, so it stays";
    std::vector<double> in(20, rank + 1.0);
    std::vector<double> out(20, 0);
    ASSERT_EQ(gaspi_allreduce(in.data(), out.data(), 20, GASPI_OP_SUM, GASPI_TYPE_DOUBLE, GASPI_GROUP_ALL, GASPI_BLOCK),
              GASPI_SUCCESS);
    EXPECT_EQ(out[19], size * (size + 1) / 2.0);
    unsigned long most = rank;
    ASSERT_EQ(gaspi_allreduce(&most, &most, 1, GASPI_OP_MAX, GASPI_TYPE_ULONG, GASPI_GROUP_ALL, GASPI_BLOCK),
              GASPI_SUCCESS);
    EXPECT_EQ(most, size - 1UL);
    const auto join = [](gaspi_pointer_t const a, gaspi_pointer_t const b, gaspi_pointer_t const result,
                         gaspi_reduce_state_t const, const gaspi_number_t num, const gaspi_size_t,
                         const gaspi_timeout_t) {
        for (gaspi_number_t i = 0; i < num; ++i) { // it depends on the order
            static_cast<unsigned *>(result)[i] = 10 * static_cast<unsigned *>(a)[i] + static_cast<unsigned *>(b)[i];
        }
        return GASPI_SUCCESS;
    };
    unsigned digit = rank + 1U;
    unsigned number = 0;
    ASSERT_EQ(gaspi_allreduce_user(&digit, &number, 1, sizeof digit, join, nullptr, GASPI_GROUP_ALL, GASPI_BLOCK),
              GASPI_SUCCESS);
    unsigned other = 0;
    ASSERT_EQ(gaspi_allreduce(&number, &other, 1, GASPI_OP_MIN, GASPI_TYPE_UINT, GASPI_GROUP_ALL, GASPI_BLOCK),
              GASPI_SUCCESS);
    EXPECT_EQ(number, other) << "all have the same";
}

TEST_F(gaspi, groups_overlap) {
    std::vector<gaspi_group_t> groups;
    for (int i = 0; i < size; ++i) { // each pair of neighbours
        const int j = (i + 1) % size;
        if (rank != i && rank != j) {
            continue;
        }
        gaspi_group_t made = 0;
        ASSERT_EQ(gaspi_group_create(&made), GASPI_SUCCESS);
        ASSERT_EQ(gaspi_group_add(made, static_cast<gaspi_rank_t>(i)), GASPI_SUCCESS);
        if (i != j) {
            ASSERT_EQ(gaspi_group_add(made, static_cast<gaspi_rank_t>(j)), GASPI_SUCCESS);
        }
        EXPECT_EQ(gaspi_group_add(made, static_cast<gaspi_rank_t>(i)), GASPI_ERR_INV_RANK) << "twice";
        EXPECT_EQ(gaspi_barrier(made, GASPI_TEST), GASPI_ERR_INV_GROUP) << "not committed";
        ASSERT_EQ(gaspi_group_commit(made, GASPI_BLOCK), GASPI_SUCCESS);
        groups.push_back(made);
    }
    for (const gaspi_group_t each : groups) {
        int in = 1;
        int out = 0;
        gaspi_number_t members = 0;
        ASSERT_EQ(gaspi_group_size(each, &members), GASPI_SUCCESS);
        ASSERT_EQ(gaspi_allreduce(&in, &out, 1, GASPI_OP_SUM, GASPI_TYPE_INT, each, GASPI_BLOCK), GASPI_SUCCESS);
        EXPECT_EQ(out, static_cast<int>(members));
        EXPECT_EQ(gaspi_group_delete(each), GASPI_SUCCESS);
    }
    EXPECT_EQ(gaspi_group_delete(GASPI_GROUP_ALL), GASPI_ERR_INV_GROUP);
}

TEST_F(gaspi, threads_get_new_numbers_after_each_initialization) {
    const auto own = [] {
        gaspi_int number = -1;
        EXPECT_EQ(gaspi_threads_register(&number), GASPI_SUCCESS);
        return number;
    };
    for (const bool comes_first : {true, false}) {
        ASSERT_EQ(gaspi_threads_init_user(2), GASPI_SUCCESS);
        gaspi_int here = comes_first ? own() : -1;
        gaspi_int there = -1;
        std::thread([&] { there = own(); }).join();
        here = comes_first ? here : own();
        EXPECT_EQ(here + there, 1) << here << ' ' << there;
        EXPECT_EQ(gaspi_threads_term(), GASPI_SUCCESS);
        EXPECT_EQ(gaspi_threads_get_tid(&here), GASPI_ERROR);
    }
}

TEST_F(gaspi, wrong_arguments_are_errors_that_name_them) {
    make(1, 100);
    gaspi_notification_id_t id = 0;
    gaspi_notification_t value = 0;
    gaspi_number_t notifications = 0;
    gaspi_notification_num(&notifications);
    EXPECT_EQ(gaspi_write(2, 0, next, 1, 0, 8, 0, GASPI_BLOCK), GASPI_ERR_INV_SEG);
    EXPECT_EQ(gaspi_write(1, 0, next, 2, 0, 8, 0, GASPI_BLOCK), GASPI_ERR_INV_SEG);
    EXPECT_EQ(gaspi_write(1, 93, next, 1, 0, 8, 0, GASPI_BLOCK), GASPI_ERR_INV_LOC_OFF);
    EXPECT_EQ(gaspi_write(1, 0, next, 1, 93, 8, 0, GASPI_BLOCK), GASPI_ERR_INV_REM_OFF);
    EXPECT_EQ(gaspi_write(1, 0, next, 1, ~0UL, 8, 0, GASPI_BLOCK), GASPI_ERR_INV_REM_OFF);
    EXPECT_EQ(gaspi_write(1, 0, size, 1, 0, 8, 0, GASPI_BLOCK), GASPI_ERR_INV_RANK);
    EXPECT_EQ(gaspi_write(1, 0, next, 1, 0, 8, 8, GASPI_BLOCK), GASPI_ERR_INV_QUEUE);
    EXPECT_EQ(gaspi_write(1, 0, next, 1, 0, ~0UL, 0, GASPI_BLOCK), GASPI_ERR_INV_SIZE);
    EXPECT_EQ(gaspi_notify(1, next, 0, 0, 0, GASPI_BLOCK), GASPI_ERR_INV_NOTIF_VAL);
    EXPECT_EQ(gaspi_notify(1, next, notifications, 1, 0, GASPI_BLOCK), GASPI_ERR_INV_NOTIF_ID);
    EXPECT_EQ(gaspi_notify_reset(1, notifications, &value), GASPI_ERR_INV_NOTIF_ID);
    EXPECT_EQ(gaspi_notify_waitsome(1, notifications - 1, 2, &id, GASPI_TEST), GASPI_ERR_INV_NUM);
    EXPECT_EQ(gaspi_notify_waitsome(1, 0, 0, &id, GASPI_BLOCK), GASPI_SUCCESS) << "none to wait for";
    EXPECT_EQ(gaspi_segment_create(1, 8, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED), GASPI_ERR_INV_SEG);
    EXPECT_EQ(gaspi_segment_alloc(2, 0, GASPI_MEM_INITIALIZED), GASPI_ERR_INV_SEGSIZE);
    EXPECT_EQ(gaspi_segment_bind(2, nullptr, 8, 0), GASPI_ERR_NULLPTR);
    EXPECT_EQ(gaspi_proc_kill(rank, GASPI_BLOCK), GASPI_ERR_INV_RANK);
    EXPECT_EQ(gaspi_queue_delete(9), GASPI_ERR_INV_QUEUE);
    gaspi_config_t config;
    ASSERT_EQ(gaspi_config_get(&config), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_config_set(config), GASPI_ERR_CONFIG) << "too late";
    EXPECT_EQ(gaspi_notify_waitsome(1, 0, notifications, &id, GASPI_TEST), GASPI_TIMEOUT) << "nothing has moved";
}

TEST(gaspi_outside, calls_before_init_are_refused) {
    gaspi_rank_t rank = 0;
    EXPECT_EQ(gaspi_proc_rank(&rank), GASPI_ERR_NOINIT);
    EXPECT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_ERR_NOINIT);
    EXPECT_EQ(gaspi_proc_term(GASPI_BLOCK), GASPI_ERR_NOINIT);
    EXPECT_EQ(gaspi_config_get(nullptr), GASPI_ERR_NULLPTR);
    EXPECT_STREQ(gaspi_error_str(GASPI_QUEUE_FULL), "queue full");
}

} // namespace
