// SPDX-License-Identifier: BSD-3-Clause
// Functions of GASPI that no other test calls: each with right arguments, with wrong ones, and before the beginning.
#include "gaspi.hpp"
#include "onesided.hpp"

#include <GASPI_Threads.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

struct call {
    const char *name;
    std::function<gaspi_return_t()> function;
};

void expect_all(const std::vector<call> &calls, gaspi_return_t expected) {
    for (const call &each : calls) {
        EXPECT_EQ(each.function(), expected) << each.name;
    }
}

template <class T> T of(gaspi_return_t (*function)(T *)) {
    T value{};
    EXPECT_EQ(function(&value), GASPI_SUCCESS);
    return value;
}

#define WITH_NULL(name)                                                                                                \
    {                                                                                                                  \
#name, [] { return name(nullptr); }                                                                            \
    }

TEST_F(gaspi, limits_are_those_of_the_configuration) {
    gaspi_config_t config;
    ASSERT_EQ(gaspi_config_get(&config), GASPI_SUCCESS);
    EXPECT_EQ(of(gaspi_group_max), config.group_max);
    EXPECT_EQ(of(gaspi_segment_max), config.segment_max);
    EXPECT_EQ(of(gaspi_allreduce_buf_size), config.allreduce_buf_size);
    EXPECT_EQ(of(gaspi_allreduce_elem_max), config.allreduce_elem_max);
    EXPECT_EQ(of(gaspi_rw_list_elem_max), config.rw_list_elem_max);
    EXPECT_EQ(of(gaspi_network_type), config.network);
    EXPECT_EQ(of(gaspi_build_infrastructure), config.build_infrastructure);
    EXPECT_EQ(of(gaspi_queue_num), config.queue_num);
    EXPECT_GE(of(gaspi_queue_max), config.queue_num);
    EXPECT_EQ(of(gaspi_passive_transfer_size_min), 1U);
    EXPECT_EQ(of(gaspi_transfer_size_min), 0U);
    EXPECT_EQ(of(gaspi_atomic_max), ~0UL);
    EXPECT_FLOAT_EQ(of(gaspi_version), 1.6F);
}

TEST_F(gaspi, a_null_pointer_for_a_result_is_an_error) {
    const std::vector<call> calls = {
        WITH_NULL(gaspi_config_get),
        WITH_NULL(gaspi_version),
        WITH_NULL(gaspi_proc_rank),
        WITH_NULL(gaspi_proc_num),
        WITH_NULL(gaspi_group_create),
        WITH_NULL(gaspi_group_num),
        WITH_NULL(gaspi_group_max),
        WITH_NULL(gaspi_segment_num),
        WITH_NULL(gaspi_segment_max),
        WITH_NULL(gaspi_queue_num),
        WITH_NULL(gaspi_queue_size_max),
        WITH_NULL(gaspi_queue_max),
        WITH_NULL(gaspi_atomic_max),
        WITH_NULL(gaspi_transfer_size_min),
        WITH_NULL(gaspi_transfer_size_max),
        WITH_NULL(gaspi_notification_num),
        WITH_NULL(gaspi_passive_transfer_size_min),
        WITH_NULL(gaspi_passive_transfer_size_max),
        WITH_NULL(gaspi_allreduce_buf_size),
        WITH_NULL(gaspi_allreduce_elem_max),
        WITH_NULL(gaspi_rw_list_elem_max),
        WITH_NULL(gaspi_network_type),
        WITH_NULL(gaspi_build_infrastructure),
        WITH_NULL(gaspi_time_ticks),
        WITH_NULL(gaspi_time_get),
        WITH_NULL(gaspi_state_vec_get),
        WITH_NULL(gaspi_statistic_counter_max),
        WITH_NULL(gaspi_initialized),
        WITH_NULL(gaspi_proc_local_rank),
        WITH_NULL(gaspi_proc_local_num),
        WITH_NULL(gaspi_cpu_frequency),
        WITH_NULL(gaspi_numa_socket),
        WITH_NULL(gaspi_segment_avail_local),
        WITH_NULL(gaspi_threads_init),
        WITH_NULL(gaspi_threads_register),
        WITH_NULL(gaspi_threads_get_tid),
        WITH_NULL(gaspi_threads_get_total),
        WITH_NULL(gaspi_threads_get_num_cores),
        {"gaspi_group_size", [] { return gaspi_group_size(0, nullptr); }},
        {"gaspi_group_ranks", [] { return gaspi_group_ranks(0, nullptr); }},
        {"gaspi_segment_list", [] { return gaspi_segment_list(1, nullptr); }},
        {"gaspi_segment_ptr", [] { return gaspi_segment_ptr(0, nullptr); }},
        {"gaspi_segment_size", [] { return gaspi_segment_size(0, 0, nullptr); }},
        {"gaspi_queue_size", [] { return gaspi_queue_size(0, nullptr); }},
        {"gaspi_queue_create", [] { return gaspi_queue_create(nullptr, GASPI_BLOCK); }},
        {"gaspi_print_error", [] { return gaspi_print_error(GASPI_ERROR, nullptr); }},
        {"gaspi_statistic_counter_get", [] { return gaspi_statistic_counter_get(0, 0, nullptr); }},
        {"gaspi_statistic_counter_info",
         [] { return gaspi_statistic_counter_info(0, nullptr, nullptr, nullptr, nullptr); }},
        {"gaspi_threads_run", [] { return gaspi_threads_run(nullptr, nullptr); }},
        {"gaspi_operation_get_num_requests",
         [] { return gaspi_operation_get_num_requests(GASPI_OP_READ, 1, nullptr); }},
        {"gaspi_atomic_fetch_add", [] { return gaspi_atomic_fetch_add(0, 0, 0, 1, nullptr, GASPI_BLOCK); }},
        {"gaspi_atomic_compare_swap", [] { return gaspi_atomic_compare_swap(0, 0, 0, 1, 2, nullptr, GASPI_BLOCK); }},
        {"gaspi_write_list",
         [] { return gaspi_write_list(1, nullptr, nullptr, 0, nullptr, nullptr, nullptr, 0, GASPI_BLOCK); }},
        {"gaspi_read_list",
         [] { return gaspi_read_list(1, nullptr, nullptr, 0, nullptr, nullptr, nullptr, 0, GASPI_BLOCK); }},
        {"gaspi_segment_use", [] { return gaspi_segment_use(9, nullptr, 8, GASPI_GROUP_ALL, GASPI_BLOCK, 0); }}};
    expect_all(calls, GASPI_ERR_NULLPTR);
}

TEST_F(gaspi, groups_tell_their_ranks) {
    const gaspi_number_t before = of(gaspi_group_num);
    gaspi_group_t pair = 0;
    ASSERT_EQ(gaspi_group_create(&pair), GASPI_SUCCESS);
    EXPECT_EQ(of(gaspi_group_num), before + 1);
    EXPECT_EQ(gaspi_group_add(pair, next), GASPI_SUCCESS);
    if (next != rank) {
        EXPECT_EQ(gaspi_group_add(pair, rank), GASPI_SUCCESS);
    }
    std::array<gaspi_rank_t, 2> members{};
    EXPECT_EQ(gaspi_group_ranks(pair, members.data()), GASPI_SUCCESS);
    EXPECT_EQ(members[0], std::min(rank, next));
    EXPECT_EQ(members[1], next != rank ? std::max(rank, next) : 0);
    std::vector<gaspi_rank_t> all(size);
    EXPECT_EQ(gaspi_group_ranks(GASPI_GROUP_ALL, all.data()), GASPI_SUCCESS);
    EXPECT_EQ(all.back(), size - 1);
    EXPECT_EQ(gaspi_group_delete(pair), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_group_ranks(pair, members.data()), GASPI_ERR_INV_GROUP);
    EXPECT_EQ(of(gaspi_group_num), before);
}

TEST_F(gaspi, queues_are_made_purged_and_deleted) {
    const gaspi_number_t before = of(gaspi_queue_num);
    const gaspi_number_t most = of(gaspi_queue_max);
    std::vector<gaspi_queue_id_t> made;
    gaspi_queue_id_t queue = 99;
    while (gaspi_queue_create(&queue, GASPI_BLOCK) == GASPI_SUCCESS) {
        made.push_back(queue);
    }
    EXPECT_EQ(before + made.size(), most);
    EXPECT_EQ(of(gaspi_queue_num), most);
    ASSERT_FALSE(made.empty());
    unsigned char *const memory = make(0, 200'000);
    std::fill_n(memory, 100'000, static_cast<unsigned char>(rank + 1));
    EXPECT_EQ(gaspi_write_notify(0, 0, next, 0, 100'000, 100'000, 1, 1, made.back(), GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_queue_purge(made.back(), GASPI_BLOCK), GASPI_SUCCESS);
    gaspi_number_t posted = 9;
    EXPECT_EQ(gaspi_queue_size(made.back(), &posted), GASPI_SUCCESS);
    EXPECT_EQ(posted, 0U);
    EXPECT_EQ(await(0, 1), 1U);
    EXPECT_EQ(memory[199'999], static_cast<unsigned char>(previous + 1));
    for (const gaspi_queue_id_t each : made) {
        EXPECT_EQ(gaspi_queue_delete(each), GASPI_SUCCESS);
        EXPECT_EQ(gaspi_queue_purge(each, GASPI_BLOCK), GASPI_ERR_INV_QUEUE);
    }
    EXPECT_EQ(of(gaspi_queue_num), before);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, segments_of_the_program_are_used_by_all_of_a_group) {
    std::vector<unsigned char> memory(1000, static_cast<unsigned char>(rank + 1));
    EXPECT_EQ(of(gaspi_segment_avail_local), 0);
    ASSERT_EQ(gaspi_segment_use(0, memory.data(), memory.size(), GASPI_GROUP_ALL, GASPI_BLOCK, 0), GASPI_SUCCESS);
    EXPECT_EQ(of(gaspi_segment_avail_local), 1);
    EXPECT_EQ(gaspi_segment_use(0, memory.data(), memory.size(), GASPI_GROUP_ALL, GASPI_BLOCK, 0), GASPI_ERR_INV_SEG);
    EXPECT_EQ(gaspi_segment_use(1, memory.data(), memory.size(), 99, GASPI_BLOCK, 0), GASPI_ERR_INV_GROUP);
    EXPECT_EQ(gaspi_read(0, 500, next, 0, 0, 500, 0, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(std::count(memory.begin() + 500, memory.end(), static_cast<unsigned char>(next + 1)), 500);
    EXPECT_EQ(gaspi_read(0, 501, next, 0, 0, 500, 0, GASPI_BLOCK), GASPI_ERR_INV_LOC_OFF);
    EXPECT_EQ(gaspi_read(0, 0, next, 0, 501, 500, 0, GASPI_BLOCK), GASPI_ERR_INV_REM_OFF);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_segment_delete(0), GASPI_SUCCESS);
}

TEST_F(gaspi, lists_move_all_their_pieces) {
    constexpr gaspi_number_t pieces = 3;
    constexpr gaspi_size_t half = 90'000;
    unsigned char *const memory = make(4, 2 * half);
    gaspi_segment_id_t segments[pieces] = {4, 4, 4};
    gaspi_offset_t sources[pieces] = {0, 100, 20'000};
    gaspi_offset_t targets[pieces] = {half, half + 100, half + 20'000};
    gaspi_size_t sizes[pieces] = {100, 8, 50'000}; // some in packets, some not
    for (unsigned turn = 1; turn <= 3; ++turn) {
        std::fill_n(memory, half, static_cast<unsigned char>(10 * turn + rank));
        ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
        gaspi_rank_t from = previous;
        if (turn == 1) {
            EXPECT_EQ(gaspi_write_list(pieces, segments, sources, next, segments, targets, sizes, 1, GASPI_BLOCK),
                      GASPI_SUCCESS);
            EXPECT_EQ(gaspi_notify(4, next, 7, turn, 1, GASPI_BLOCK), GASPI_SUCCESS);
        } else if (turn == 2) {
            EXPECT_EQ(gaspi_write_list_notify(pieces, segments, sources, next, segments, targets, sizes, 4, 7, turn, 1,
                                              GASPI_BLOCK),
                      GASPI_SUCCESS);
        } else {
            EXPECT_EQ(gaspi_read_list(pieces, segments, targets, next, segments, sources, sizes, 1, GASPI_BLOCK),
                      GASPI_SUCCESS);
            from = next;
        }
        EXPECT_EQ(gaspi_wait(1, GASPI_BLOCK), GASPI_SUCCESS);
        if (turn != 3) {
            EXPECT_EQ(await(4, 7), turn);
        }
        for (gaspi_number_t i = 0; i < pieces; ++i) {
            EXPECT_EQ(std::count(memory + targets[i], memory + targets[i] + sizes[i],
                                 static_cast<unsigned char>(10 * turn + from)),
                      static_cast<long>(sizes[i]))
                << i << " of " << turn;
        }
        ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    }
    // Wrong ones: nothing moves.
    std::fill_n(memory, 2 * half, static_cast<unsigned char>(1));
    sizes[2] = half + 1;
    const gaspi_number_t too_many = of(gaspi_rw_list_elem_max) + 1;
    const auto write = [&](gaspi_number_t number) {
        return gaspi_write_list_notify(number, segments, sources, next, segments, targets, sizes, 4, 7, 1, 1,
                                       GASPI_BLOCK);
    };
    EXPECT_EQ(write(pieces), GASPI_ERR_INV_REM_OFF);
    EXPECT_EQ(write(0), GASPI_ERR_INV_NUM);
    EXPECT_EQ(write(too_many), GASPI_ERR_INV_NUM);
    EXPECT_EQ(gaspi_read_list(too_many, segments, targets, next, segments, sources, sizes, 1, GASPI_BLOCK),
              GASPI_ERR_INV_NUM);
    EXPECT_EQ(gaspi_write_list_notify(1, segments, sources, next, segments, targets, sizes, 4, 7, 0, 1, GASPI_BLOCK),
              GASPI_ERR_INV_NOTIF_VAL);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(std::count(memory, memory + 2 * half, static_cast<unsigned char>(1)), static_cast<long>(2 * half));
    gaspi_notification_t value = 9;
    EXPECT_EQ(gaspi_notify_reset(4, 7, &value), GASPI_SUCCESS);
    EXPECT_EQ(value, 0U);
}

TEST_F(gaspi, lists_with_a_tag_give_it_once_for_each_request) {
    make(0, 100);
    gaspi_segment_id_t segments[] = {0, 0};
    gaspi_offset_t from[] = {0, 8};
    gaspi_offset_t to[] = {50, 58};
    gaspi_size_t sizes[] = {8, 8};
    const auto submit = [&](gaspi_operation_t what, gaspi_tag_t tag) {
        return gaspi_operation_list_submit(what, tag, 2, segments, from, next, segments, to, sizes, 0, 3, 1, 0,
                                           GASPI_BLOCK);
    };
    gaspi_number_t expected = 0;
    for (const gaspi_operation_t what : {GASPI_OP_WRITE_LIST, GASPI_OP_READ_LIST, GASPI_OP_WRITE_LIST_NOTIFY}) {
        gaspi_number_t each = 0;
        EXPECT_EQ(submit(what, 5), GASPI_SUCCESS);
        EXPECT_EQ(gaspi_operation_get_num_requests(what, 2, &each), GASPI_SUCCESS);
        expected += each;
    }
    EXPECT_EQ(expected, 7U);
    gaspi_tag_t tags[8];
    gaspi_status_t statuses[8];
    gaspi_number_t found = 0;
    EXPECT_EQ(gaspi_request_wait(0, expected, &found, tags, statuses, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(std::count(tags, tags + found, gaspi_tag_t{5}), 7);
    EXPECT_EQ(await(0, 3), 1U);
    EXPECT_EQ(submit(GASPI_OP_WRITE, 5), GASPI_ERROR) << "no operation on a list";
    EXPECT_EQ(gaspi_operation_submit(GASPI_OP_READ_LIST, 5, 0, 0, next, 0, 8, 8, 0, 0, 0, GASPI_BLOCK), GASPI_ERROR);
    EXPECT_EQ(gaspi_operation_get_num_requests(GASPI_OP_SUM, 2, &found), GASPI_ERROR);
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(gaspi, counters_count_what_was_done) {
    EXPECT_EQ(gaspi_statistic_verbosity_level(1), GASPI_SUCCESS);
    const gaspi_number_t number = of(gaspi_statistic_counter_max);
    make(0, 64);
    for (gaspi_number_t i = 0; i < number; ++i) {
        EXPECT_EQ(gaspi_statistic_counter_reset(i), GASPI_SUCCESS);
    }
    EXPECT_EQ(gaspi_write_notify(0, 0, next, 0, 32, 16, 1, 1, 0, GASPI_BLOCK), GASPI_SUCCESS);
    // To another place: one rank reads from itself.
    EXPECT_EQ(gaspi_read(0, 48, next, 0, 0, 8, 0, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    int in = 1;
    int sum = 0;
    EXPECT_EQ(gaspi_allreduce(&in, &sum, 1, GASPI_OP_SUM, GASPI_TYPE_INT, GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    gaspi_atomic_value_t old = 0;
    EXPECT_EQ(gaspi_atomic_fetch_add(0, 56, next, 1, &old, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_passive_send(0, 0, next, 24, GASPI_BLOCK), GASPI_SUCCESS);
    gaspi_rank_t from = 0;
    EXPECT_EQ(gaspi_passive_receive(0, 0, &from, 24, GASPI_BLOCK), GASPI_SUCCESS);
    const unsigned long most_by_messages = 16 + 8;
    std::map<std::string, unsigned long> expected{{"bytes written", 16}, {"bytes read", 8}, {"passive bytes", 24}};
    for (gaspi_number_t i = 0; i < number; ++i) {
        gaspi_statistic_argument_t argument{};
        gaspi_string_t name = nullptr;
        gaspi_string_t description = nullptr;
        gaspi_number_t level = 0;
        unsigned long value = 0;
        EXPECT_EQ(gaspi_statistic_counter_info(i, &argument, &name, &description, &level), GASPI_SUCCESS);
        EXPECT_EQ(gaspi_statistic_counter_get(i, 0, &value), GASPI_SUCCESS);
        const std::string which = name;
        if (which == "bytes by messages") { // of another host, or behind other messages
            EXPECT_LE(value, most_by_messages);
            EXPECT_GE(value, only_messages() ? most_by_messages : 0);
        } else {
            EXPECT_EQ(value, expected.contains(which) ? expected.at(which) : 1U) << which;
        }
        EXPECT_EQ(gaspi_statistic_counter_reset(i), GASPI_SUCCESS);
        EXPECT_EQ(gaspi_statistic_counter_get(i, 0, &value), GASPI_SUCCESS);
        EXPECT_EQ(value, 0U) << which;
    }
    unsigned long value = 0;
    EXPECT_EQ(gaspi_statistic_counter_get(number, 0, &value), GASPI_ERR_INV_NUM);
    EXPECT_EQ(gaspi_statistic_counter_reset(number), GASPI_ERR_INV_NUM);
}

TEST_F(gaspi, processes_of_a_node_are_numbered) {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int here = 0;
    int own = 0;
    MPI_Comm_size(node, &here);
    MPI_Comm_rank(node, &own);
    MPI_Comm_free(&node);
    EXPECT_EQ(of(gaspi_proc_local_num), here) << "whether their memory is mapped or not";
    EXPECT_EQ(of(gaspi_proc_local_rank), own);
    EXPECT_EQ(gaspi_connect(next, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_disconnect(next, GASPI_BLOCK), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_connect(size, GASPI_BLOCK), GASPI_ERR_INV_RANK);
    EXPECT_EQ(gaspi_disconnect(size, GASPI_BLOCK), GASPI_ERR_INV_RANK);
}

TEST_F(gaspi, time_and_the_machine) {
    const gaspi_time_t begun = of(gaspi_time_get);
    EXPECT_GT(begun, 0) << "it was 0 at the beginning";
    const gaspi_cycles_t ticks = of(gaspi_time_ticks);
    sleep_ms(5);
    EXPECT_GE(of(gaspi_time_get) - begun, 4.9F);
    EXPECT_GT(of(gaspi_time_ticks), ticks);
    gaspi_float mhz = -1;
    const gaspi_return_t known = gaspi_cpu_frequency(&mhz); // the system may not say
    EXPECT_TRUE((known == GASPI_SUCCESS && mhz > 0) || (known == GASPI_ERROR && mhz == -1));
    gaspi_uchar socket = 255;
    if (gaspi_numa_socket(&socket) == GASPI_SUCCESS) {
        cpu_set_t before;
        ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
        EXPECT_EQ(gaspi_set_socket_affinity(socket), GASPI_SUCCESS);
        ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    }
    EXPECT_EQ(gaspi_set_socket_affinity(254), GASPI_ERROR);
    gaspi_delay();
}

TEST_F(gaspi, texts_are_printed_with_the_rank) {
    gaspi_string_t text = nullptr;
    ASSERT_EQ(gaspi_print_error(GASPI_ERR_INV_QUEUE, &text), GASPI_SUCCESS);
    EXPECT_STREQ(text, gaspi_error_str(GASPI_ERR_INV_QUEUE));
    std::free(text);
    testing::internal::CaptureStdout();
    gaspi_printf("%d of %s\n", 3, "these");
    gaspi_printf_to(7, "hello\n");
    gaspi_print_affinity_mask();
    const std::string printed = testing::internal::GetCapturedStdout();
    const std::string own = "[Rank    " + std::to_string(rank) + "]: ";
    EXPECT_TRUE(printed.starts_with(own + "3 of these\n[Rank    7]: hello\n" + own + "processors ")) << printed;
}

TEST_F(gaspi, threads_wait_for_each_other) {
    EXPECT_GT(of(gaspi_threads_get_num_cores), 0);
    EXPECT_EQ(gaspi_threads_run([](void *) {}, nullptr), GASPI_ERR_NOINIT);
    gaspi_int number = 0;
    ASSERT_EQ(gaspi_threads_init(&number), GASPI_SUCCESS);
    EXPECT_EQ(number, of(gaspi_threads_get_num_cores));
    EXPECT_EQ(of(gaspi_threads_get_total), number);
    EXPECT_EQ(gaspi_threads_init(&number), GASPI_ERR_INITED);
    EXPECT_EQ(gaspi_threads_term(), GASPI_SUCCESS);
    static constexpr int all = 3;
    ASSERT_EQ(gaspi_threads_init_user(all), GASPI_SUCCESS);
    static std::atomic<int> here;
    here = 0;
    const auto meet = [](void *) {
        gaspi_int own = -1;
        EXPECT_EQ(gaspi_threads_register(&own), GASPI_SUCCESS);
        EXPECT_EQ(of(gaspi_threads_get_tid), own);
        ++here;
        gaspi_threads_sync();
        EXPECT_EQ(here, all);
        gaspi_threads_sync();
    };
    for (int i = 1; i < all; ++i) {
        ASSERT_EQ(gaspi_threads_run(meet, nullptr), GASPI_SUCCESS);
    }
    meet(nullptr);
    EXPECT_EQ(gaspi_threads_term(), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_threads_term(), GASPI_ERR_NOINIT);
}

TEST(gaspi_outside, calls_that_need_the_processes_are_refused) {
    static gaspi_number_t number = 0;
    static gaspi_rank_t rank = 0;
    static gaspi_size_t bytes = 0;
    static gaspi_group_t group = 0;
    static gaspi_queue_id_t queue = 0;
    static gaspi_segment_id_t segment = 0;
    static gaspi_offset_t offset = 0;
    static gaspi_pointer_t pointer = nullptr;
    static gaspi_state_t state = GASPI_STATE_HEALTHY;
    static gaspi_atomic_value_t word = 0;
    const std::vector<call> calls = {
        {"proc_num", [] { return gaspi_proc_num(&rank); }},
        {"proc_kill", [] { return gaspi_proc_kill(0, GASPI_BLOCK); }},
        {"proc_ping", [] { return gaspi_proc_ping(0, GASPI_BLOCK); }},
        {"connect", [] { return gaspi_connect(0, GASPI_BLOCK); }},
        {"disconnect", [] { return gaspi_disconnect(0, GASPI_BLOCK); }},
        {"proc_local_rank", [] { return gaspi_proc_local_rank(&rank); }},
        {"proc_local_num", [] { return gaspi_proc_local_num(&rank); }},
        {"state_vec_get", [] { return gaspi_state_vec_get(&state); }},
        {"group_create", [] { return gaspi_group_create(&group); }},
        {"group_delete", [] { return gaspi_group_delete(1); }},
        {"group_add", [] { return gaspi_group_add(1, 0); }},
        {"group_commit", [] { return gaspi_group_commit(1, GASPI_BLOCK); }},
        {"group_num", [] { return gaspi_group_num(&number); }},
        {"group_size", [] { return gaspi_group_size(0, &number); }},
        {"group_ranks", [] { return gaspi_group_ranks(0, &rank); }},
        {"segment_alloc", [] { return gaspi_segment_alloc(0, 8, GASPI_MEM_INITIALIZED); }},
        {"segment_bind", [] { return gaspi_segment_bind(0, &word, 8, 0); }},
        {"segment_use", [] { return gaspi_segment_use(0, &word, 8, 0, GASPI_BLOCK, 0); }},
        {"segment_create", [] { return gaspi_segment_create(0, 8, 0, GASPI_BLOCK, GASPI_MEM_INITIALIZED); }},
        {"segment_register", [] { return gaspi_segment_register(0, 0, GASPI_BLOCK); }},
        {"segment_delete", [] { return gaspi_segment_delete(0); }},
        {"segment_num", [] { return gaspi_segment_num(&number); }},
        {"segment_list", [] { return gaspi_segment_list(1, &segment); }},
        {"segment_ptr", [] { return gaspi_segment_ptr(0, &pointer); }},
        {"segment_size", [] { return gaspi_segment_size(0, 0, &bytes); }},
        {"segment_avail_local", [] { return gaspi_segment_avail_local(&segment); }},
        {"write", [] { return gaspi_write(0, 0, 0, 0, 0, 8, 0, GASPI_BLOCK); }},
        {"read", [] { return gaspi_read(0, 0, 0, 0, 0, 8, 0, GASPI_BLOCK); }},
        {"notify", [] { return gaspi_notify(0, 0, 0, 1, 0, GASPI_BLOCK); }},
        {"write_notify", [] { return gaspi_write_notify(0, 0, 0, 0, 0, 8, 0, 1, 0, GASPI_BLOCK); }},
        {"read_notify", [] { return gaspi_read_notify(0, 0, 0, 0, 0, 8, 0, 0, GASPI_BLOCK); }},
        {"write_list",
         [] { return gaspi_write_list(1, &segment, &offset, 0, &segment, &offset, &bytes, 0, GASPI_BLOCK); }},
        {"read_list",
         [] { return gaspi_read_list(1, &segment, &offset, 0, &segment, &offset, &bytes, 0, GASPI_BLOCK); }},
        {"notify_waitsome", [] { return gaspi_notify_waitsome(0, 0, 1, &number, GASPI_BLOCK); }},
        {"notify_reset", [] { return gaspi_notify_reset(0, 0, &number); }},
        {"queue_create", [] { return gaspi_queue_create(&queue, GASPI_BLOCK); }},
        {"queue_delete", [] { return gaspi_queue_delete(0); }},
        {"queue_purge", [] { return gaspi_queue_purge(0, GASPI_BLOCK); }},
        {"queue_size", [] { return gaspi_queue_size(0, &number); }},
        {"queue_num", [] { return gaspi_queue_num(&number); }},
        {"passive_send", [] { return gaspi_passive_send(0, 0, 0, 8, GASPI_BLOCK); }},
        {"passive_receive", [] { return gaspi_passive_receive(0, 0, &rank, 8, GASPI_BLOCK); }},
        {"atomic_fetch_add", [] { return gaspi_atomic_fetch_add(0, 0, 0, 1, &word, GASPI_BLOCK); }},
        {"atomic_compare_swap", [] { return gaspi_atomic_compare_swap(0, 0, 0, 1, 2, &word, GASPI_BLOCK); }},
        {"barrier", [] { return gaspi_barrier(0, GASPI_BLOCK); }},
        {"allreduce", [] { return gaspi_allreduce(&word, &word, 1, GASPI_OP_SUM, GASPI_TYPE_ULONG, 0, GASPI_BLOCK); }}};
    expect_all(calls, GASPI_ERR_NOINIT);
}

} // namespace
