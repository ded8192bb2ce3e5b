// SPDX-License-Identifier: BSD-3-Clause
// Wrong calls of TAGASPI, and operations that fail, in tasks of a runtime that counts what is bound to them. With an
// argument it is one test by itself: `without_threads` begins MPI on a lower thread level, `uninitialized` calls
// everything before the beginning.
#include "tagaspi_fixture.hpp"

#include <GASPI_Ext.h>
#include <thence/task_runtime.h>
#include <thence/thence.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

// A task is this object while `body` runs in it. Other threads lower its events.
struct counted_task {
    std::atomic<std::uint64_t> raised{0};
    std::atomic<std::uint64_t> lowered{0};
    std::atomic<int> error{MPI_SUCCESS};
    bool refuses = false;
};
thread_local counted_task *current = nullptr;

const thence_task_runtime counting{sizeof(thence_task_runtime),
                                   "counting",
                                   []() -> void * { return current; },
                                   nullptr,
                                   nullptr,
                                   [](void *task, std::uint64_t n) {
                                       static_cast<counted_task *>(task)->raised += n;
                                       return static_cast<counted_task *>(task)->refuses ? 1 : 0;
                                   },
                                   [](void *task, std::uint64_t n, int error) {
                                       int none = MPI_SUCCESS;
                                       static_cast<counted_task *>(task)->error.compare_exchange_strong(none, error);
                                       static_cast<counted_task *>(task)->lowered += n;
                                       return 0;
                                   },
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr};

gaspi_return_t in(counted_task &task, const std::function<gaspi_return_t()> &body) {
    current = &task;
    const gaspi_return_t code = body();
    current = nullptr;
    return code;
}

void wait_until(const std::function<bool()> &done) {
    while (!done()) {
        thence_progress();
        std::this_thread::yield();
    }
}

bool is_by_messages() {
    const char *const how = std::getenv("THENCE_ONESIDED");
    return how != nullptr && std::strcmp(how, "messages") == 0;
}

class tagaspi_faults : public tagaspi {
protected:
    static constexpr gaspi_size_t bytes = 64;
    void SetUp() override {
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
    for (int i = 0; i < 1000; ++i) {
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

TEST_F(tagaspi_faults, it_begins_and_ends_once) {
    EXPECT_EQ(tagaspi_proc_init(GASPI_BLOCK), GASPI_ERR_INITED);
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

int call_uninitialized() {
    gaspi_notification_t value = 0;
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
    if (argc > 1 && std::strcmp(argv[1], "uninitialized") == 0) {
        return call_uninitialized();
    }
    return run_all_tests(argc, argv, MPI_THREAD_MULTIPLE);
}
