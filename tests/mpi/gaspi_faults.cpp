// SPDX-License-Identifier: BSD-3-Clause
// GASPI where something goes wrong: calls that fail in one process, parts that are deleted, processes that are stopped.
#include "gaspi.hpp"
#include "onesided.hpp"
#include "scarce_memory.hpp"

#include <atomic>
#include <csignal>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

TEST_F(gaspi, a_reduction_that_fails_in_one_process_fails_in_all) {
    const auto refuse = [](gaspi_pointer_t const, gaspi_pointer_t const, gaspi_pointer_t const,
                           gaspi_reduce_state_t const, const gaspi_number_t, const gaspi_size_t,
                           const gaspi_timeout_t) { return GASPI_ERROR; };
    int in = 1;
    int out = 7;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(gaspi_allreduce_user(&in, &out, 1, sizeof in, refuse, nullptr, GASPI_GROUP_ALL, GASPI_BLOCK),
                  size > 1 ? GASPI_ERROR : GASPI_SUCCESS);
        // Nobody waits for one that has given up, and the next call works.
        int sum = 0;
        EXPECT_EQ(gaspi_allreduce(&in, &sum, 1, GASPI_OP_SUM, GASPI_TYPE_INT, GASPI_GROUP_ALL, GASPI_BLOCK),
                  GASPI_SUCCESS);
        EXPECT_EQ(sum, size);
    }
    if (size > 1) {
        int two[2] = {1, 1};
        int result[2] = {7, 7};
        const gaspi_number_t number = rank == size - 1 ? 2 : 1;
        EXPECT_EQ(gaspi_allreduce(two, result, number, GASPI_OP_SUM, GASPI_TYPE_INT, GASPI_GROUP_ALL, GASPI_BLOCK),
                  GASPI_ERROR)
            << "processes give different numbers";
        EXPECT_EQ(result[0], 7) << "not changed";
        EXPECT_EQ(out, 7);
    }
    EXPECT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST(gaspi_configured, reductions_of_more_than_a_packet_holds) {
    gaspi_config_t config;
    ASSERT_EQ(gaspi_config_get(&config), GASPI_SUCCESS);
    const gaspi_config_t before = config;
    config.allreduce_elem_max = (1U << 21) + 1;
    EXPECT_EQ(gaspi_config_set(config), GASPI_ERR_CONFIG) << "more than 16 MiB";
    constexpr gaspi_number_t most = 1'000'000;
    config.allreduce_elem_max = most;
    config.allreduce_buf_size = 400'000;
    ASSERT_EQ(gaspi_config_set(config), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_proc_init(GASPI_BLOCK), GASPI_SUCCESS);
    gaspi_rank_t rank = 0;
    gaspi_rank_t size = 1;
    gaspi_proc_rank(&rank);
    gaspi_proc_num(&size);
    for (const gaspi_number_t number : {1U, 1017U, 1018U, 1024U, 50'000U, most}) {
        std::vector<double> in(number);
        std::vector<double> out(number, -1);
        for (gaspi_number_t i = 0; i < number; ++i) {
            in[i] = rank + i;
        }
        ASSERT_EQ(gaspi_allreduce(in.data(), out.data(), number, GASPI_OP_SUM, GASPI_TYPE_DOUBLE, GASPI_GROUP_ALL,
                                  GASPI_BLOCK),
                  GASPI_SUCCESS);
        for (gaspi_number_t i = 0; i < number; ++i) {
            ASSERT_EQ(out[i], size * (size - 1) / 2.0 + 1.0 * size * i) << i << " of " << number;
        }
    }
    std::vector<double> none(most + 1);
    EXPECT_EQ(gaspi_allreduce(none.data(), none.data(), most + 1, GASPI_OP_SUM, GASPI_TYPE_DOUBLE, GASPI_GROUP_ALL,
                              GASPI_BLOCK),
              GASPI_ERR_INV_NUM);
    EXPECT_EQ(gaspi_proc_term(GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_config_set(before), GASPI_SUCCESS);
}

TEST_F(gaspi, an_atomic_operation_whose_time_was_over_goes_on_in_another_thread) {
    make(0, 64);
    constexpr unsigned each = 20;
    for (unsigned i = 0; i < each; ++i) {
        gaspi_atomic_value_t old = 0;
        if (gaspi_atomic_fetch_add(0, 8, next, 1, &old, GASPI_TEST) == GASPI_TIMEOUT) {
            std::thread([&] {
                EXPECT_EQ(gaspi_atomic_fetch_add(0, 8, next, 1, &old, GASPI_BLOCK), GASPI_SUCCESS);
            }).join();
        }
        EXPECT_EQ(old, i);
    }
    // Several may be unfinished, of one thread too, and the end waits for them.
    gaspi_atomic_value_t old = 0;
    int begun = 0;
    for (unsigned i = 0; i < each; ++i) {
        begun += gaspi_atomic_fetch_add(0, 16 + 8 * (i % 4), next, i, &old, GASPI_TEST) == GASPI_TIMEOUT ? 1 : 0;
    }
    EXPECT_LE(begun, static_cast<int>(each));
    ASSERT_EQ(gaspi_atomic_fetch_add(0, 8, next, 0, &old, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(old, each) << "each was added once";
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, the_end_keeps_its_time_and_goes_on_when_it_is_called_again) {
    if (size == 1) {
        GTEST_SKIP() << "with other ranks to wait for";
    }
    if (rank == 0) {
        const double took = ms_of([] { EXPECT_EQ(gaspi_proc_term(50), GASPI_TIMEOUT); });
        EXPECT_GE(took, 50);
        gaspi_number_t initialized = 0;
        EXPECT_EQ(gaspi_initialized(&initialized), GASPI_SUCCESS);
        EXPECT_EQ(initialized, 1U);
        EXPECT_EQ(gaspi_proc_term(GASPI_TEST), GASPI_TIMEOUT);
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        MPI_Barrier(MPI_COMM_WORLD); // of MPI: rank 0 waits for nobody here
    }
    EXPECT_EQ(gaspi_proc_term(GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_proc_rank(&rank), GASPI_ERR_NOINIT);
}

TEST_F(gaspi, the_end_keeps_its_time_while_another_thread_waits_in_it) {
    if (size == 1) {
        GTEST_SKIP() << "with other ranks to wait for";
    }
    if (rank == 0) {
        std::jthread blocks([] { EXPECT_EQ(gaspi_proc_term(GASPI_BLOCK), GASPI_SUCCESS); });
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // mostly it waits by now
        expect_time(30, [](gaspi_timeout_t time) { return gaspi_proc_term(time); });
        EXPECT_EQ(gaspi_proc_term(GASPI_TEST), GASPI_TIMEOUT);
        MPI_Barrier(MPI_COMM_WORLD); // of MPI: the others end GASPI after it
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        EXPECT_EQ(gaspi_proc_term(GASPI_BLOCK), GASPI_SUCCESS);
    }
}

TEST_F(gaspi, a_segment_whose_operations_are_outstanding_is_not_deleted) {
    constexpr gaspi_size_t bytes = 8'000'000;
    unsigned char *const target = make(0, bytes);
    ASSERT_EQ(gaspi_segment_alloc(1, bytes, GASPI_MEM_INITIALIZED), GASPI_SUCCESS);
    gaspi_pointer_t memory = nullptr;
    ASSERT_EQ(gaspi_segment_ptr(1, &memory), GASPI_SUCCESS);
    std::fill_n(static_cast<unsigned char *>(memory), bytes, static_cast<unsigned char>(7));
    for (gaspi_number_t i = 0; i < 3; ++i) {
        ASSERT_EQ(gaspi_write_notify(1, 0, next, 0, 0, bytes, i, 1, 0, GASPI_BLOCK), GASPI_SUCCESS);
    }
    // While MPI sends from it the segment stays.
    gaspi_return_t code = GASPI_ERROR;
    while ((code = gaspi_segment_delete(1)) == GASPI_ERROR) {
        gaspi_number_t segments = 0;
        EXPECT_EQ(gaspi_segment_num(&segments), GASPI_SUCCESS);
        EXPECT_EQ(segments, 2U);
        EXPECT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS);
    }
    EXPECT_EQ(code, GASPI_SUCCESS);
    for (gaspi_number_t i = 0; i < 3; ++i) {
        EXPECT_EQ(await(0, i), 1U);
    }
    EXPECT_EQ(std::count(target, target + bytes, static_cast<unsigned char>(7)), static_cast<long>(bytes));
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, a_segment_with_a_notification_that_the_end_of_reads_sets_is_not_deleted) {
    constexpr gaspi_size_t bytes = 4'000'000;
    make(0, 2 * bytes);
    ASSERT_EQ(gaspi_segment_alloc(1, 64, GASPI_MEM_INITIALIZED), GASPI_SUCCESS);
    gaspi_segment_id_t segments[] = {0, 0};
    gaspi_offset_t from[] = {0, bytes / 2};
    gaspi_offset_t to[] = {bytes, bytes + bytes / 2};
    gaspi_size_t sizes[] = {bytes / 2, bytes / 2};
    ASSERT_EQ(gaspi_read_list_notify(2, segments, to, next, segments, from, sizes, 1, 3, 0, GASPI_BLOCK),
              GASPI_SUCCESS);
    gaspi_return_t code = GASPI_ERROR;
    while ((code = gaspi_segment_delete(1)) == GASPI_ERROR) {
        EXPECT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS);
    }
    EXPECT_EQ(code, GASPI_SUCCESS);
    EXPECT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS); // sets no notification in memory that is gone
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, an_operation_on_a_part_that_was_deleted_is_an_error) {
    constexpr gaspi_size_t bytes = 60'000;
    make(0, bytes);
    make(1, bytes);
    std::vector<unsigned char> memory(bytes, 3);
    ASSERT_EQ(gaspi_segment_use(2, memory.data(), bytes, GASPI_GROUP_ALL, GASPI_BLOCK, 0), GASPI_SUCCESS);
    if (size == 1) {
        GTEST_SKIP() << "with another rank";
    }
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    if (rank == 0) {
        EXPECT_EQ(gaspi_segment_delete(1), GASPI_SUCCESS);
        EXPECT_EQ(gaspi_segment_delete(2), GASPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) {
        // By the call itself, where memory is mapped, or by a wait, when the target has said that it has no such part.
        const auto expect_error = [&](auto post) {
            gaspi_return_t code = post();
            while (code == GASPI_SUCCESS) {
                EXPECT_EQ(gaspi_proc_ping(0, GASPI_BLOCK), GASPI_SUCCESS);
                code = gaspi_wait(3, GASPI_BLOCK);
            }
            EXPECT_EQ(code, GASPI_ERROR);
        };
        for (const gaspi_segment_id_t deleted : {1, 2}) {
            for (const gaspi_size_t length : {gaspi_size_t{8}, bytes}) {
                expect_error([&] { return gaspi_write(0, 0, 0, deleted, 0, length, 3, GASPI_BLOCK); });
                expect_error([&] { return gaspi_write_notify(0, 0, 0, deleted, 0, length, 1, 1, 3, GASPI_BLOCK); });
                expect_error([&] { return gaspi_read(0, 0, 0, deleted, 0, length, 3, GASPI_BLOCK); });
            }
            expect_error([&] { return gaspi_notify(deleted, 0, 1, 1, 3, GASPI_BLOCK); });
        }
        gaspi_atomic_value_t old = 77;
        EXPECT_EQ(gaspi_atomic_fetch_add(1, 8, 0, 1, &old, GASPI_BLOCK), GASPI_ERROR);
        EXPECT_EQ(gaspi_atomic_compare_swap(1, 8, 0, 1, 2, &old, GASPI_BLOCK), GASPI_ERROR);
        EXPECT_EQ(old, 77U);
        std::vector<gaspi_state_t> states(size);
        EXPECT_EQ(gaspi_state_vec_get(states.data()), GASPI_SUCCESS);
        EXPECT_EQ(states[0], GASPI_STATE_CORRUPT);
        // The others of this rank work.
        EXPECT_EQ(gaspi_write_notify(0, 0, 0, 0, 0, bytes, rank, 1, 3, GASPI_BLOCK), GASPI_SUCCESS);
        EXPECT_EQ(gaspi_wait(3, GASPI_BLOCK), GASPI_SUCCESS);
    } else {
        for (gaspi_rank_t each = 1; each < size; ++each) {
            EXPECT_EQ(await(0, each), 1U);
        }
        EXPECT_TRUE(std::ranges::all_of(memory, [](unsigned char each) { return each == 3; }))
            << "it is the program's again";
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST_F(gaspi, a_part_that_another_rank_has_no_memory_for_is_an_error_until_it_has) {
    make(0, 64);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(gaspi_proc_ping(next, GASPI_BLOCK), GASPI_SUCCESS); // now each has memory for packets
    }
    ASSERT_EQ(gaspi_segment_alloc(1, 64, GASPI_MEM_INITIALIZED), GASPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (size > 1 && rank == 1) {
        const thence::fake::scarcity_everywhere none;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        if (size > 1 && rank == 0) {
            EXPECT_EQ(gaspi_segment_register(1, 1, GASPI_BLOCK), GASPI_ERR_MEMALLOC);
            EXPECT_EQ(gaspi_segment_register(1, 1, GASPI_BLOCK), GASPI_ERR_MEMALLOC) << "it is told anew";
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD); // now it has
    EXPECT_EQ(gaspi_segment_register(1, next, GASPI_BLOCK), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_notify(1, previous, 1, 5, 0, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(await(1, 1), 5U);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, a_part_may_be_made_anew_while_others_write_to_it) {
    if (next == rank) {
        GTEST_SKIP() << "there are no others: a process that has deleted its part cannot write to it";
    }
    make(0, 100'000);
    ASSERT_EQ(gaspi_segment_alloc(2, 50'000, GASPI_MEM_INITIALIZED), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_segment_register(2, previous, GASPI_BLOCK), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    std::atomic<bool> over{false};
    std::thread writer([&] {
        for (unsigned i = 1; !over; ++i) {
            const gaspi_return_t code =
                gaspi_write_notify(0, 0, next, 2, 0, i % 3 == 0 ? 40'000 : 100, i % 1000, 1, 1, GASPI_BLOCK);
            gaspi_return_t waited = GASPI_SUCCESS;
            if (code == GASPI_QUEUE_FULL) {
                waited = gaspi_wait(1, GASPI_BLOCK);
            }
            // An error: it came between the deletion and the new part.
            EXPECT_TRUE(code == GASPI_SUCCESS || code == GASPI_QUEUE_FULL || code == GASPI_ERROR) << code;
            EXPECT_TRUE(waited == GASPI_SUCCESS || waited == GASPI_ERROR) << waited;
        }
    });
    for (int i = 0; i < 30; ++i) {
        gaspi_return_t code = GASPI_ERROR;
        while ((code = gaspi_segment_delete(2)) == GASPI_ERROR) {
            std::this_thread::yield(); // data arrive
        }
        EXPECT_EQ(code, GASPI_SUCCESS);
        ASSERT_EQ(gaspi_segment_alloc(2, 50'000, GASPI_MEM_INITIALIZED), GASPI_SUCCESS);
        ASSERT_EQ(gaspi_segment_register(2, previous, GASPI_BLOCK), GASPI_SUCCESS);
    }
    over = true;
    writer.join();
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    gaspi_return_t last = GASPI_ERROR; // what was refused before may be told late
    for (int i = 0; i < 100 && last != GASPI_SUCCESS; ++i) {
        EXPECT_EQ(gaspi_write(0, 0, next, 2, 0, 40'000, 1, GASPI_BLOCK), GASPI_SUCCESS);
        EXPECT_EQ(gaspi_proc_ping(next, GASPI_BLOCK), GASPI_SUCCESS);
        last = gaspi_wait(1, GASPI_BLOCK);
    }
    EXPECT_EQ(last, GASPI_SUCCESS) << "all know the last part";
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, all_notifications_of_a_segment_arrive_each_at_its_number) {
    make(3, 8);
    gaspi_number_t all = 0;
    ASSERT_EQ(gaspi_notification_num(&all), GASPI_SUCCESS);
    EXPECT_EQ(all, 65'536U);
    for (gaspi_notification_id_t i = 0; i < all;) {
        const gaspi_return_t code = gaspi_notify(3, next, i, 3 * i + 1, 0, GASPI_BLOCK);
        if (code == GASPI_QUEUE_FULL) {
            ASSERT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS);
            continue;
        }
        ASSERT_EQ(code, GASPI_SUCCESS);
        ++i;
    }
    for (gaspi_notification_id_t i = 0; i < all; ++i) {
        ASSERT_EQ(await(3, i), 3 * i + 1);
    }
    gaspi_notification_id_t none = 0;
    EXPECT_EQ(gaspi_notify_waitsome(3, 0, all, &none, GASPI_TEST), GASPI_TIMEOUT);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, a_second_notification_before_the_reset_replaces_the_first) {
    make(3, 8);
    ASSERT_EQ(gaspi_notify(3, next, 5, 10, 0, GASPI_BLOCK), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_notify(3, next, 5, 11, 0, GASPI_BLOCK), GASPI_SUCCESS);
    ASSERT_EQ(gaspi_notify(3, next, 6, 1, 0, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(await(3, 6), 1U);
    EXPECT_EQ(await(3, 5), 11U);
    gaspi_notification_t value = 9;
    EXPECT_EQ(gaspi_notify_reset(3, 5, &value), GASPI_SUCCESS);
    EXPECT_EQ(value, 0U) << "it counts once";
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, a_stopped_rank_answers_no_ping_although_others_do) {
    make(0, 64);
    std::vector<int> processes(size);
    int own = getpid();
    MPI_Allgather(&own, 1, MPI_INT, processes.data(), 1, MPI_INT, MPI_COMM_WORLD);
    const std::vector<bool> here = on_this_host();
    MPI_Barrier(MPI_COMM_WORLD);
    if (size == 4 && rank == 0 && std::count(here.begin(), here.end(), true) == size) {
        stop(processes[1]);
        std::atomic<bool> timed_out{false};
        std::thread other([&] {
            EXPECT_EQ(gaspi_proc_ping(1, 150), GASPI_TIMEOUT);
            timed_out = true;
        });
        while (!timed_out) {
            EXPECT_EQ(gaspi_proc_ping(2, GASPI_BLOCK), GASPI_SUCCESS);
        }
        other.join();
        gaspi_atomic_value_t old = 77;
        if (only_messages()) {
            // Nor is it sent messages without end: calls wait. A list goes as a whole or not at all.
            constexpr gaspi_number_t pieces = 100;
            std::vector<gaspi_segment_id_t> segments(pieces, 0);
            std::vector<gaspi_offset_t> offsets(pieces, 16);
            std::vector<gaspi_size_t> lengths(pieces, 8);
            const auto post_list = [&] {
                return gaspi_write_list(pieces, segments.data(), offsets.data(), 1, segments.data(), offsets.data(),
                                        lengths.data(), 0, GASPI_TEST);
            };
            int posted = 0;
            for (gaspi_return_t code = GASPI_SUCCESS; posted < 10'000 && code != GASPI_TIMEOUT; ++posted) {
                code = posted < 30 ? gaspi_notify(0, 1, 1, 1, 0, GASPI_TEST) : post_list();
                if (code == GASPI_QUEUE_FULL) {
                    EXPECT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS);
                }
            }
            EXPECT_LT(posted, 100);
            expect_time(30, [&](gaspi_timeout_t time) { return gaspi_notify(0, 1, 1, 1, 0, time); });
            expect_time(30, [&](gaspi_timeout_t time) { return gaspi_read(0, 16, 1, 0, 16, 8, 0, time); });
            EXPECT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS) << "what timed out is not posted";
            expect_time(30, [&](gaspi_timeout_t time) { return gaspi_atomic_fetch_add(0, 0, 1, 5, &old, time); });
            expect_time(30, [&](gaspi_timeout_t time) { return gaspi_atomic_compare_swap(0, 0, 1, 0, 1, &old, time); });
            EXPECT_EQ(gaspi_atomic_fetch_add(0, 0, 1, 5, &old, GASPI_TEST), GASPI_TIMEOUT);
            EXPECT_EQ(old, 77U);
        }
        ASSERT_EQ(kill(processes[1], SIGCONT), 0);
        EXPECT_EQ(gaspi_proc_ping(1, GASPI_BLOCK), GASPI_SUCCESS);
        EXPECT_EQ(gaspi_notify(0, 1, 2, 1, 0, GASPI_BLOCK), GASPI_SUCCESS);
        EXPECT_EQ(gaspi_atomic_fetch_add(0, 0, 1, 5, &old, GASPI_BLOCK), GASPI_SUCCESS);
        EXPECT_EQ(old, 0U) << "what had no room was not begun";
        EXPECT_EQ(gaspi_atomic_fetch_add(0, 0, 1, 1, &old, GASPI_BLOCK), GASPI_SUCCESS);
        EXPECT_EQ(old, 5U);
        gaspi_state_t states[4];
        EXPECT_EQ(gaspi_state_vec_get(states), GASPI_SUCCESS);
        EXPECT_EQ(std::count(states, states + 4, GASPI_STATE_HEALTHY), 4) << "it was only slow";
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

} // namespace
