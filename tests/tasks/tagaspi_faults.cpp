// SPDX-License-Identifier: BSD-3-Clause
// Wrong calls of TAGASPI, and operations that fail, in tasks of a runtime that counts what is bound to them. With an
// argument it is one test by itself: `without_threads` begins MPI on a lower thread level, `without_threads_in_one` in
// one process, `uninitialized` calls everything before the beginning.
#include "counted_task.hpp"
#include "tagaspi_fixture.hpp"

#include <GASPI_Ext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

namespace {

bool is_by_messages() {
    const char *const how = std::getenv("THENCE_ONESIDED");
    return how != nullptr && std::strcmp(how, "messages") == 0;
}

class tagaspi_faults : public tagaspi {
protected:
    static constexpr gaspi_size_t bytes = 64;
    void SetUp() override {
        gaspi_config_t chosen{};
        ASSERT_EQ(gaspi_config_get(&chosen), GASPI_SUCCESS);
        chosen.transfer_size_max = gaspi_size_t{1} << 32;
        ASSERT_EQ(gaspi_config_set(chosen), GASPI_SUCCESS);
        ASSERT_EQ(thence_task_runtime_add(&counting), MPI_SUCCESS);
        tagaspi::SetUp();
        make<char>(0, bytes);
        gaspi_notification_num(&notifications);
        meet();
    }
    void TearDown() override {
        meet();
        tagaspi::TearDown();
        EXPECT_EQ(thence_task_runtime_remove(&counting), MPI_SUCCESS);
    }
    // The call gives the error, and binds nothing.
    static void expect(gaspi_return_t code, const char *what, const std::function<gaspi_return_t()> &call) {
        counted_task task;
        EXPECT_EQ(in(task, call), code) << what;
        EXPECT_EQ(task.raised, task.lowered) << what;
        EXPECT_EQ(task.error, MPI_SUCCESS) << what;
    }
    void expect_nothing_arrived() const {
        gaspi_notification_id_t found = 0;
        EXPECT_EQ(gaspi_notify_waitsome(0, 0, notifications, &found, GASPI_TEST), GASPI_TIMEOUT);
    }

    gaspi_number_t notifications = 0;
};

TEST_F(tagaspi_faults, wrong_arguments_of_operations) {
    const auto ranks = static_cast<gaspi_rank_t>(size);
    expect(GASPI_ERR_INV_SEG, "no local segment", [&] { return tagaspi_write(9, 0, next, 0, 0, 8, 0); });
    expect(GASPI_ERR_INV_SEG, "no remote segment", [&] { return tagaspi_write(0, 0, next, 9, 0, 8, 0); });
    expect(GASPI_ERR_INV_SEG, "no segment to read", [&] { return tagaspi_read(0, 0, next, 9, 0, 8, 0); });
    expect(GASPI_ERR_INV_LOC_OFF, "behind the local end", [&] { return tagaspi_write(0, 60, next, 0, 0, 8, 0); });
    expect(GASPI_ERR_INV_REM_OFF, "behind the remote end", [&] { return tagaspi_read(0, 0, next, 0, 60, 8, 0); });
    expect(GASPI_ERR_INV_RANK, "no such rank", [&] { return tagaspi_write(0, 0, ranks, 0, 0, 8, 0); });
    expect(GASPI_ERR_INV_RANK, "no such rank", [&] { return tagaspi_notify(0, ranks, 0, 1, 0); });
    expect(GASPI_ERR_INV_QUEUE, "no such queue", [&] { return tagaspi_write(0, 0, next, 0, 0, 8, 15); });
    expect(GASPI_ERR_INV_QUEUE, "no such queue", [&] { return tagaspi_read_notify(0, 0, next, 0, 0, 8, 0, 16); });
    expect(GASPI_ERR_INV_NOTIF_VAL, "value 0", [&] { return tagaspi_notify(0, next, 0, 0, 0); });
    expect(GASPI_ERR_INV_NOTIF_VAL, "value 0", [&] { return tagaspi_write_notify(0, 0, next, 0, 0, 8, 0, 0, 0); });
    expect(GASPI_ERR_INV_NOTIF_ID, "no such id", [&] { return tagaspi_notify(0, next, notifications, 1, 0); });
    expect(GASPI_ERR_INV_NOTIF_ID, "no such id",
           [&] { return tagaspi_read_notify(0, 0, next, 0, 0, 8, notifications, 0); });
    expect_nothing_arrived();
}

TEST_F(tagaspi_faults, wrong_arguments_of_lists) {
    std::array<gaspi_segment_id_t, 2> segments{0, 0};
    std::array<gaspi_offset_t, 2> from{0, 8};
    std::array<gaspi_offset_t, 2> to{16, 24};
    std::array<gaspi_offset_t, 2> behind{16, 60};
    std::array<gaspi_size_t, 2> sizes{8, 8};
    gaspi_number_t most = 0;
    gaspi_rw_list_elem_max(&most);
    gaspi_segment_id_t *const s = segments.data();
    expect(GASPI_ERR_INV_NUM, "no pieces",
           [&] { return tagaspi_write_list(0, s, from.data(), next, s, to.data(), sizes.data(), 0); });
    expect(GASPI_ERR_INV_NUM, "too many pieces",
           [&] { return tagaspi_read_list(most + 1, s, from.data(), next, s, to.data(), sizes.data(), 0); });
    expect(GASPI_ERR_NULLPTR, "no offsets",
           [&] { return tagaspi_write_list(2, s, nullptr, next, s, to.data(), sizes.data(), 0); });
    expect(GASPI_ERR_INV_REM_OFF, "the last piece is behind the end",
           [&] { return tagaspi_write_list(2, s, from.data(), next, s, behind.data(), sizes.data(), 0); });
    expect(GASPI_ERR_INV_NOTIF_VAL, "value 0",
           [&] { return tagaspi_write_list_notify(2, s, from.data(), next, s, to.data(), sizes.data(), 0, 3, 0, 0); });
    expect(GASPI_ERR_INV_SEG, "no segment of the notification",
           [&] { return tagaspi_write_list_notify(2, s, from.data(), next, s, to.data(), sizes.data(), 9, 3, 1, 0); });
    expect(GASPI_ERR_INV_NOTIF_ID, "no such id", [&] {
        return tagaspi_read_list_notify(2, s, from.data(), next, s, to.data(), sizes.data(), 0, notifications, 0);
    });
    expect_nothing_arrived();
}

TEST_F(tagaspi_faults, wrong_arguments_of_waits) {
    gaspi_notification_t value = 99;
    expect(GASPI_ERR_INV_SEG, "no segment", [&] { return tagaspi_notify_iwait(9, 0, &value); });
    expect(GASPI_ERR_INV_SEG, "no segment", [&] { return tagaspi_notify_async_waitall(255, 0, 1, &value); });
    expect(GASPI_ERR_INV_NOTIF_ID, "no such id", [&] { return tagaspi_notify_iwait(0, notifications, &value); });
    expect(GASPI_ERR_INV_NUM, "beyond the last id",
           [&] { return tagaspi_notify_iwaitall(0, notifications - 1, 2, &value); });
    expect(GASPI_ERR_INV_NUM, "more than there are", [&] { return tagaspi_notify_iwaitall(0, 1, ~0U, &value); });
    expect(GASPI_SUCCESS, "of no notifications", [&] { return tagaspi_notify_iwaitall(0, 1, 0, nullptr); });
    EXPECT_EQ(value, 99U);
}

TEST_F(tagaspi_faults, a_value_is_not_touched_before_its_notification_arrives) {
    std::array<gaspi_notification_t, 2> values{99, 99};
    counted_task task;
    EXPECT_EQ(in(task, [&] { return tagaspi_notify_iwaitall(0, 4, 2, values.data()); }), GASPI_SUCCESS);
    EXPECT_EQ(task.raised, 1U);
    for (int i = 0; i < 5000; ++i) {
        thence_progress();
    }
    EXPECT_EQ(task.lowered, 0U);
    EXPECT_EQ(values[0], 99U);
    meet();
    EXPECT_EQ(tagaspi_notify(0, next, 4, 14, 0), GASPI_SUCCESS);
    EXPECT_EQ(tagaspi_notify(0, next, 5, 15, 0), GASPI_SUCCESS);
    wait_until([&] { return task.lowered == 1; });
    EXPECT_EQ(values[0], 14U);
    EXPECT_EQ(values[1], 15U);
}

// A runtime that raises no events: the operation is done all the same, and a wait is refused.
TEST_F(tagaspi_faults, a_runtime_may_refuse_events) {
    counted_task task;
    task.refuses = true;
    EXPECT_EQ(in(task, [&] { return tagaspi_notify_iwait(0, 1, GASPI_NOTIFICATION_IGNORE); }), GASPI_ERROR);
    constexpr gaspi_size_t large = 1000000;
    char *const data = make<char>(1, 2 * large);
    std::fill_n(data, large, static_cast<char>(rank + 1));
    meet();
    EXPECT_EQ(in(task, [&] { return tagaspi_read(1, large, next, 1, 0, large, 0); }), GASPI_SUCCESS);
    EXPECT_EQ(data[2 * large - 1], next_rank + 1);
    EXPECT_EQ(task.lowered, 0U);
}

// The target has deleted its part when the request to read it comes.
TEST_F(tagaspi_faults, a_failed_read_marks_the_rank_and_tells_the_runtime) {
    if (!is_by_messages()) {
        GTEST_SKIP() << "in shared memory a part that is deleted stays mapped";
    }
    constexpr gaspi_size_t large = 300000;
    make<char>(1, large);
    meet();
    if (rank == 0 && size > 1) {
        EXPECT_EQ(gaspi_segment_delete(1), GASPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<gaspi_state_t> states(static_cast<std::size_t>(size));
    if (rank != 0) {
        counted_task task;
        // The call tells of the error itself if it is known already.
        const gaspi_return_t code = in(task, [&] { return tagaspi_read_notify(1, 0, 0, 1, 0, large, 7, 0); });
        wait_until([&] { return task.lowered == task.raised; });
        EXPECT_TRUE(code == GASPI_ERROR || (code == GASPI_SUCCESS && task.error != MPI_SUCCESS)) << code;
        EXPECT_EQ(gaspi_state_vec_get(states.data()), GASPI_SUCCESS);
        EXPECT_EQ(states[0], GASPI_STATE_CORRUPT);
        gaspi_notification_id_t found = 0;
        EXPECT_EQ(gaspi_notify_waitsome(1, 7, 1, &found, GASPI_TEST), GASPI_TIMEOUT);
    }
}

// Nobody asks the queue of the read.
TEST_F(tagaspi_faults, a_task_learns_of_the_end_of_a_read_that_is_no_tasks) {
    constexpr gaspi_size_t large = 300000;
    make<char>(1, 2 * large);
    meet();
    counted_task task;
    EXPECT_EQ(in(task, [] { return tagaspi_notify_iwait(1, 7, GASPI_NOTIFICATION_IGNORE); }), GASPI_SUCCESS);
    EXPECT_EQ(gaspi_read_notify(1, large, next, 1, 0, large, 7, 0, GASPI_BLOCK), GASPI_SUCCESS);
    wait_until([&] { return task.lowered == task.raised; });
    EXPECT_EQ(gaspi_wait(0, GASPI_BLOCK), GASPI_SUCCESS);
}

TEST_F(tagaspi_faults, a_segment_with_data_of_a_task_under_way_is_not_deleted) {
    constexpr gaspi_size_t large = 8000000;
    char *const target = make<char>(1, large);
    ASSERT_EQ(gaspi_segment_alloc(2, large, GASPI_MEM_INITIALIZED), GASPI_SUCCESS);
    gaspi_pointer_t memory = nullptr;
    ASSERT_EQ(gaspi_segment_ptr(2, &memory), GASPI_SUCCESS);
    std::fill_n(static_cast<char *>(memory), large, 'x');
    meet();
    counted_task writes;
    EXPECT_EQ(in(writes, [&] { return tagaspi_write_notify(2, 0, next, 1, 0, large, 1, 1, 0); }), GASPI_SUCCESS);
    gaspi_return_t code = GASPI_ERROR;
    wait_until([&] { return (code = gaspi_segment_delete(2)) != GASPI_ERROR; });
    EXPECT_EQ(code, GASPI_SUCCESS);
    wait_until([&] { return writes.lowered == writes.raised; });
    counted_task waits;
    EXPECT_EQ(in(waits, [] { return tagaspi_notify_iwait(1, 1, GASPI_NOTIFICATION_IGNORE); }), GASPI_SUCCESS);
    wait_until([&] { return waits.lowered == waits.raised; });
    EXPECT_EQ(std::count(target, target + large, 'x'), static_cast<long>(large));
    // A part that a task waits for stays, too.
    counted_task waits_for_second;
    EXPECT_EQ(in(waits_for_second, [] { return tagaspi_notify_iwait(1, 2, GASPI_NOTIFICATION_IGNORE); }),
              GASPI_SUCCESS);
    EXPECT_EQ(gaspi_segment_delete(1), GASPI_ERROR);
    meet();
    EXPECT_EQ(tagaspi_notify(1, next, 2, 1, 0), GASPI_SUCCESS);
    wait_until([&] { return waits_for_second.lowered == waits_for_second.raised; });
}

TEST_F(tagaspi_faults, a_processor_has_its_queue_although_the_thread_that_makes_the_group_may_not_use_it) {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    std::vector<std::size_t> processors;
    for (std::size_t i = 0; i < CPU_SETSIZE && processors.size() < 2; ++i) {
        if (CPU_ISSET(i, &before)) {
            processors.push_back(i);
        }
    }
    if (processors.size() < 2) {
        GTEST_SKIP() << "with two processors";
    }
    const auto bind = [](std::size_t processor) {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(processor, &only);
        EXPECT_EQ(sched_setaffinity(0, sizeof only, &only), 0);
    };
    bind(processors[0]);
    const auto all = static_cast<gaspi_number_t>(CPU_COUNT(&before));
    ASSERT_EQ(tagaspi_queue_group_create(1, 0, 2, GASPI_QUEUE_GROUP_POLICY_CPU_RR), GASPI_SUCCESS);
    std::array<gaspi_queue_id_t, 2> found{99, 99};
    for (std::size_t i = 0; i < found.size(); ++i) {
        std::thread([&] {
            bind(processors[i]);
            for (int turn = 0; turn < 2; ++turn) {
                EXPECT_EQ(tagaspi_queue_group_get_queue(1, &found[i]), GASPI_SUCCESS);
            }
        }).join();
    }
    EXPECT_LT(found[0], 2);
    EXPECT_LT(found[1], 2);
    if (all == 2) { // else two of them may be neighbours
        EXPECT_NE(found[0], found[1]);
    }
    EXPECT_EQ(tagaspi_queue_group_delete(1), GASPI_SUCCESS);
    EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

// The last message of it is so short that it is complete at once.
TEST_F(tagaspi_faults, a_task_waits_for_all_messages_of_more_than_a_message_moves) {
    if (std::getenv("THENCE_TEST_LARGE") == nullptr) {
        GTEST_SKIP() << "THENCE_TEST_LARGE is not set: 2 GiB for each rank";
    }
    constexpr gaspi_size_t large = (gaspi_size_t{1} << 30) + 8;
    auto *const data = make<std::uint64_t>(1, 2 * large / sizeof(std::uint64_t));
    constexpr gaspi_size_t words = large / sizeof *data;
    data[0] = 11;
    data[words - 2] = 22;
    data[words - 1] = 33;
    meet();
    counted_task writes;
    EXPECT_EQ(in(writes, [&] { return tagaspi_write_notify(1, 0, next, 1, large, large, 1, 1, 0); }), GASPI_SUCCESS);
    EXPECT_EQ(writes.raised, is_by_messages() ? 1U : 0U);
    counted_task waits;
    EXPECT_EQ(in(waits, [] { return tagaspi_notify_iwait(1, 1, GASPI_NOTIFICATION_IGNORE); }), GASPI_SUCCESS);
    wait_until([&] { return waits.lowered == waits.raised && writes.lowered == writes.raised; });
    EXPECT_EQ(writes.error, MPI_SUCCESS);
    EXPECT_EQ(data[words], 11U);
    EXPECT_EQ(data[2 * words - 2], 22U);
    EXPECT_EQ(data[2 * words - 1], 33U);
    meet();
    data[0] = 44;
    counted_task reads;
    EXPECT_EQ(in(reads, [&] { return tagaspi_read(1, large, next, 1, 0, large, 0); }), GASPI_SUCCESS);
    wait_until([&] { return reads.lowered == reads.raised; });
    EXPECT_EQ(data[words], 44U);
    EXPECT_EQ(in(reads, [&] { return tagaspi_read(1, large, next, 1, 8, large, 0); }), GASPI_SUCCESS);
    wait_until([&] { return reads.lowered == reads.raised; });
    gaspi_size_t most = 0;
    EXPECT_EQ(gaspi_transfer_size_max(&most), GASPI_SUCCESS);
    expect(GASPI_ERR_INV_SIZE, "longer than the configuration allows",
           [&] { return tagaspi_read(1, 0, next, 1, 0, most + 1, 0); });
    expect(GASPI_ERR_INV_REM_OFF, "the second message is behind the end",
           [&] { return tagaspi_write(1, 0, next, 1, large + 16, large, 0); });
}

TEST_F(tagaspi_faults, it_begins_and_ends_once) {
    EXPECT_EQ(tagaspi_proc_init(GASPI_BLOCK), GASPI_ERR_INITED);
}

TEST_F(tagaspi_faults, a_queue_group_that_is_made_anew_beside_a_call_is_the_old_or_the_new) {
    std::atomic<bool> over{false};
    std::thread asks([&] {
        while (!over) {
            gaspi_queue_id_t queue = 0;
            const gaspi_return_t code = tagaspi_queue_group_get_queue(2, &queue);
            EXPECT_TRUE(code == GASPI_SUCCESS || code == GASPI_ERR_INV_NUM) << code;
            EXPECT_TRUE(queue < 2 || queue >= 4) << static_cast<int>(queue);
        }
    });
    for (int i = 0; i < 5000; ++i) {
        EXPECT_EQ(
            tagaspi_queue_group_create(2, i % 2 == 0 ? 0 : 4, i % 2 == 0 ? 2 : 4, GASPI_QUEUE_GROUP_POLICY_DEFAULT),
            GASPI_SUCCESS);
        EXPECT_EQ(tagaspi_queue_group_delete(2), GASPI_SUCCESS);
    }
    over = true;
    asks.join();
}

TEST_F(tagaspi_faults, queue_groups) {
    gaspi_number_t most = 0;
    gaspi_queue_id_t queue = 99;
    EXPECT_EQ(tagaspi_queue_group_max(&most), GASPI_SUCCESS);
    EXPECT_EQ(most, 16U);
    EXPECT_EQ(tagaspi_queue_group_max(nullptr), GASPI_ERR_NULLPTR);
    EXPECT_EQ(tagaspi_queue_group_get_queue(0, &queue), GASPI_ERR_INV_NUM);
    EXPECT_EQ(queue, 99);
    EXPECT_EQ(tagaspi_queue_group_delete(0), GASPI_ERR_INV_NUM);
    const auto round_robin = GASPI_QUEUE_GROUP_POLICY_DEFAULT;
    EXPECT_EQ(tagaspi_queue_group_create(16, 0, 2, round_robin), GASPI_ERR_INV_NUM);
    EXPECT_EQ(tagaspi_queue_group_create(0, 0, 0, round_robin), GASPI_ERR_INV_NUM);
    EXPECT_EQ(tagaspi_queue_group_create(0, 7, 2, round_robin), GASPI_ERR_INV_QUEUE); // 8 is not created
    EXPECT_EQ(tagaspi_queue_group_create(0, 255, 2, round_robin), GASPI_ERR_INV_QUEUE);
    EXPECT_EQ(tagaspi_queue_group_create(0, 0, 2, static_cast<gaspi_queue_group_policy_t>(2)), GASPI_ERR_CONFIG);
    ASSERT_EQ(tagaspi_queue_group_create(0, 5, 3, round_robin), GASPI_SUCCESS);
    EXPECT_EQ(tagaspi_queue_group_create(0, 0, 2, round_robin), GASPI_ERR_INITED);
    EXPECT_EQ(tagaspi_queue_group_get_queue(0, nullptr), GASPI_ERR_NULLPTR);
    for (int i = 0; i < 7; ++i) {
        EXPECT_EQ(tagaspi_queue_group_get_queue(0, &queue), GASPI_SUCCESS);
        EXPECT_EQ(queue, 5 + i % 3);
    }
    EXPECT_EQ(tagaspi_queue_group_delete(0), GASPI_SUCCESS);
    EXPECT_EQ(tagaspi_queue_group_get_queue(0, &queue), GASPI_ERR_INV_NUM);
    // Each processor has its queue, however few there are.
    for (gaspi_number_t count = 1; count <= 8; ++count) {
        ASSERT_EQ(tagaspi_queue_group_create(1, 0, count, GASPI_QUEUE_GROUP_POLICY_CPU_RR), GASPI_SUCCESS);
        EXPECT_EQ(tagaspi_queue_group_get_queue(1, &queue), GASPI_SUCCESS);
        EXPECT_LT(queue, count);
        EXPECT_EQ(tagaspi_queue_group_delete(1), GASPI_SUCCESS);
    }
    EXPECT_EQ(tagaspi_queue_group_create(15, 0, 1, round_robin), GASPI_SUCCESS); // the end deletes it
}

int faults = 0;
void check(bool is_right, const char *what) {
    if (!is_right) {
        std::fprintf(stderr, "wrong: %s\n", what);
        ++faults;
    }
}

int begin_without_threads() {
    int provided = -1;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    if (provided == MPI_THREAD_MULTIPLE) { // MPI may give more than it was asked for
        std::fprintf(stderr, "0 faults\n");
        MPI_Finalize();
        return 0;
    }
    check(tagaspi_proc_init(GASPI_BLOCK) == GASPI_ERR_ENV, "tagaspi_proc_init");
    check(gaspi_proc_init(GASPI_BLOCK) == GASPI_SUCCESS, "gaspi_proc_init");
    check(tagaspi_notify(0, 0, 0, 1, 0) == GASPI_ERR_NOINIT, "tagaspi_notify");
    check(gaspi_proc_term(GASPI_BLOCK) == GASPI_SUCCESS, "gaspi_proc_term");
    MPI_Finalize();
    std::fprintf(stderr, "%d faults\n", faults);
    return faults;
}

// In one process of several it fails in all, and none waits for that one.
int begin_without_threads_in_one() {
    const char *rank = nullptr;
    for (const char *const each : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) { // of launchers
        rank = rank != nullptr ? rank : std::getenv(each);
    }
    const bool is_first = rank != nullptr && std::strcmp(rank, "0") == 0;
    int provided = -1;
    MPI_Init_thread(nullptr, nullptr, is_first ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE, &provided);
    int least = provided;
    MPI_Allreduce(&provided, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (least < MPI_THREAD_MULTIPLE) { // MPI may give more than it was asked for
        check(tagaspi_proc_init(GASPI_BLOCK) == (provided == least ? GASPI_ERR_ENV : GASPI_ERROR), "tagaspi_proc_init");
        check(gaspi_proc_init(GASPI_BLOCK) == GASPI_SUCCESS, "gaspi_proc_init");
        check(gaspi_proc_term(GASPI_BLOCK) == GASPI_SUCCESS, "gaspi_proc_term");
    }
    MPI_Finalize();
    std::fprintf(stderr, "%d faults\n", faults);
    return faults;
}

int call_uninitialized() {
    gaspi_notification_t value = 0;
    gaspi_queue_id_t queue = 0;
    const auto all_say = [&](gaspi_return_t code) {
        check(tagaspi_proc_term(GASPI_BLOCK) == code, "tagaspi_proc_term");
        check(tagaspi_write(0, 0, 0, 0, 0, 8, 0) == code, "tagaspi_write");
        check(tagaspi_read(0, 0, 0, 0, 0, 8, 0) == code, "tagaspi_read");
        check(tagaspi_notify(0, 0, 0, 1, 0) == code, "tagaspi_notify");
        check(tagaspi_write_notify(0, 0, 0, 0, 0, 8, 0, 1, 0) == code, "tagaspi_write_notify");
        check(tagaspi_notify_iwait(0, 0, &value) == code, "tagaspi_notify_iwait");
        check(tagaspi_notify_iwaitall(0, 0, 1, &value) == code, "tagaspi_notify_iwaitall");
        check(tagaspi_queue_group_create(0, 0, 1, GASPI_QUEUE_GROUP_POLICY_DEFAULT) == code,
              "tagaspi_queue_group_create");
        check(tagaspi_queue_group_get_queue(0, &queue) == code, "tagaspi_queue_group_get_queue");
        check(tagaspi_queue_group_delete(0) == code, "tagaspi_queue_group_delete");
        check(tagaspi_read_list(0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, 0) == code, "an empty list");
    };
    all_say(GASPI_ERR_NOINIT);
    check(tagaspi_proc_init(GASPI_BLOCK) == GASPI_SUCCESS, "tagaspi_proc_init");
    check(tagaspi_proc_term(GASPI_BLOCK) == GASPI_SUCCESS, "tagaspi_proc_term");
    all_say(GASPI_ERR_NOINIT);
    std::fprintf(stderr, "%d faults\n", faults);
    return faults;
}

} // namespace

int main(int argc, char **argv) {
    if (argc > 1 && std::strcmp(argv[1], "without_threads") == 0) {
        return begin_without_threads();
    }
    if (argc > 1 && std::strcmp(argv[1], "without_threads_in_one") == 0) {
        return begin_without_threads_in_one();
    }
    if (argc > 1 && std::strcmp(argv[1], "uninitialized") == 0) {
        return call_uninitialized();
    }
    return run_all_tests(argc, argv, MPI_THREAD_MULTIPLE);
}
