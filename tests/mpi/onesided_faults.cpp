// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments of the calls of one-sided communication, and calls at the wrong time: each is an error before
// anything has moved.
#include "onesided.hpp"

#include <array>
#include <climits>

namespace {

// Errors return while it exists.
struct errors_are_returned {
    errors_are_returned() { MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors_return()); }
    errors_are_returned(const errors_are_returned &) = delete;
    errors_are_returned &operator=(const errors_are_returned &) = delete;
    ~errors_are_returned() { MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL); }
};

class onesided_faults : public testing::Test {
    errors_are_returned returned_;

protected:
    segment_of all_{100, 10};

    void TearDown() override {
        // Nothing has moved.
        for (int i = 0; i < 100; ++i) {
            EXPECT_EQ(all_.memory[i], 0);
        }
        int flag = 1;
        EXPECT_EQ(thence_notification_test(all_.segment, 0, 10, &flag, nullptr), MPI_SUCCESS);
        EXPECT_EQ(flag, 0);
    }
};

TEST_F(onesided_faults, of_making) {
    thence_space space = nullptr;
    EXPECT_EQ(class_of(thence_space_create(MPI_COMM_WORLD, 1, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_space_create(MPI_COMM_NULL, 1, &space)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(thence_space_create(MPI_COMM_WORLD, 0, &space)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_space_create(MPI_COMM_WORLD, -1, &space)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_space_create(MPI_COMM_WORLD, THENCE_MOST_QUEUES + 1, &space)), MPI_ERR_ARG);
    if (all_.size > 1) {
        EXPECT_EQ(class_of(thence_space_create(MPI_COMM_WORLD, 1 + all_.rank, &space)), MPI_ERR_ARG)
            << "processes give different numbers";
    }
    EXPECT_EQ(space, nullptr);
    thence_segment segment = nullptr;
    EXPECT_EQ(class_of(thence_segment_create(nullptr, 1, 1, &segment)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_segment_create(all_.space, 1, 1, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_segment_create(all_.space, 1, THENCE_MOST_NOTIFICATIONS + 1, &segment)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_segment_create_on(all_.space, nullptr, 1, 1, &segment)), MPI_ERR_ARG);
    // One process asks for more than there is: all get the error.
    const std::size_t too_much = all_.rank == 0 ? SIZE_MAX / 2 : 1;
    EXPECT_EQ(class_of(thence_segment_create(all_.space, too_much, 1, &segment)), MPI_ERR_NO_MEM);
    EXPECT_EQ(segment, nullptr);
    ASSERT_EQ(thence_segment_create(all_.space, 10, THENCE_MOST_NOTIFICATIONS, &segment), MPI_SUCCESS);
    EXPECT_EQ(thence_segment_free(&segment), MPI_SUCCESS);
}

TEST_F(onesided_faults, of_freeing) {
    EXPECT_EQ(class_of(thence_space_free(nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_segment_free(nullptr)), MPI_ERR_ARG);
    thence_segment none = nullptr;
    thence_space no_space = nullptr;
    EXPECT_EQ(class_of(thence_segment_free(&none)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_space_free(&no_space)), MPI_ERR_ARG);
    thence_space space = all_.space;
    EXPECT_EQ(class_of(thence_space_free(&space)), MPI_ERR_PENDING) << "its segment is not freed";
    EXPECT_EQ(space, all_.space);
    // One process waits for a notification: all are refused.
    MPI_Request request = MPI_REQUEST_NULL;
    if (all_.rank == 0) {
        ASSERT_EQ(thence_notification_request(all_.segment, 5, 1, nullptr, &request), MPI_SUCCESS);
    }
    thence_segment segment = all_.segment;
    EXPECT_EQ(class_of(thence_segment_free(&segment)), MPI_ERR_PENDING);
    EXPECT_EQ(segment, all_.segment);
    if (all_.rank == 0) {
        thence_notify(0, all_.segment, 5, 1, 0);
        EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
}

TEST_F(onesided_faults, of_puts_and_gets) {
    const std::array<unsigned char, 200> from{};
    std::array<unsigned char, 200> to{};
    struct wrong {
        const char *what;
        std::size_t bytes;
        int rank;
        std::size_t offset;
        int queue;
        int error_class;
    };
    const wrong each[] = {
        {"beyond the end", 101, 0, 0, 0, MPI_ERR_ARG},        {"beyond the end by one", 1, 0, 100, 0, MPI_ERR_ARG},
        {"offset beyond the end", 0, 0, 101, 0, MPI_ERR_ARG}, {"sum overflows", 200, 0, SIZE_MAX - 100, 0, MPI_ERR_ARG},
        {"rank too large", 1, all_.size, 0, 0, MPI_ERR_RANK}, {"negative rank", 1, -1, 0, 0, MPI_ERR_RANK},
        {"queue too large", 1, 0, 0, 2, MPI_ERR_ARG},         {"negative queue", 1, 0, 0, -1, MPI_ERR_ARG}};
    for (const wrong &w : each) {
        MPI_Request request = MPI_REQUEST_NULL;
        EXPECT_EQ(class_of(thence_put(from.data(), w.bytes, w.rank, all_.segment, w.offset, w.queue, &request)),
                  w.error_class)
            << w.what;
        EXPECT_EQ(class_of(thence_get(to.data(), w.bytes, w.rank, all_.segment, w.offset, w.queue, nullptr)),
                  w.error_class)
            << w.what;
        EXPECT_EQ(
            class_of(thence_put_notify(from.data(), w.bytes, w.rank, all_.segment, w.offset, 1, 1, w.queue, nullptr)),
            w.error_class)
            << w.what;
        // The wrong piece is the last: the others are not put.
        unsigned char some[4] = {1, 2, 3, 4};
        const thence_piece pieces[] = {{some, 4, all_.segment, 0}, {to.data(), w.bytes, all_.segment, w.offset}};
        EXPECT_EQ(class_of(thence_put_list(2, pieces, w.rank, w.queue, nullptr)), w.error_class) << w.what;
        EXPECT_EQ(class_of(thence_get_list(2, pieces, w.rank, w.queue, nullptr)), w.error_class) << w.what;
        EXPECT_EQ(class_of(thence_put_list_notify(2, pieces, w.rank, all_.segment, 1, 1, w.queue, nullptr)),
                  w.error_class)
            << w.what;
    }
    EXPECT_EQ(class_of(thence_put(from.data(), 1, 0, nullptr, 0, 0, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_put(nullptr, 1, 0, all_.segment, 0, 0, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_get(nullptr, 1, 0, all_.segment, 0, 0, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(thence_put(nullptr, 0, 0, all_.segment, 100, 0, nullptr), MPI_SUCCESS) << "nothing, at the end";
    EXPECT_EQ(class_of(thence_put_list(-1, nullptr, 0, 0, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_put_list(1, nullptr, 0, 0, nullptr)), MPI_ERR_ARG);
    const segment_of other(8, 1);
    const thence_piece mixed[] = {{nullptr, 0, all_.segment, 0}, {nullptr, 0, other.segment, 0}};
    EXPECT_EQ(class_of(thence_put_list(2, mixed, 0, 0, nullptr)), MPI_ERR_ARG) << "segments of two spaces";
    EXPECT_EQ(class_of(thence_put_list_notify(1, mixed, 0, other.segment, 0, 1, 0, nullptr)), MPI_ERR_ARG);
}

TEST_F(onesided_faults, of_atomics) {
    std::uint64_t old = 77;
    EXPECT_EQ(class_of(thence_fetch_add(1, 0, all_.segment, 4, &old, 0, nullptr)), MPI_ERR_ARG) << "not aligned";
    EXPECT_EQ(class_of(thence_fetch_add(1, 0, all_.segment, 96, &old, 0, nullptr)), MPI_ERR_ARG) << "beyond the end";
    EXPECT_EQ(class_of(thence_fetch_add(1, 0, all_.segment, 0, nullptr, 0, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_compare_swap(0, 1, 0, all_.segment, 1, &old, 0, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_compare_swap(0, 1, -1, all_.segment, 0, &old, 0, nullptr)), MPI_ERR_RANK);
    EXPECT_EQ(class_of(thence_compare_swap(0, 1, 0, nullptr, 0, &old, 0, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(old, 77U);
    alignas(8) unsigned char memory[40] = {};
    thence_segment shifted = nullptr;
    ASSERT_EQ(thence_segment_create_on(all_.space, memory + 4, 32, 0, &shifted), MPI_SUCCESS);
    EXPECT_EQ(class_of(thence_fetch_add(1, 0, shifted, 0, &old, 0, nullptr)), MPI_ERR_ARG) << "memory not aligned";
    EXPECT_EQ(thence_segment_free(&shifted), MPI_SUCCESS);
}

TEST_F(onesided_faults, of_notifications) {
    const thence_segment segment = all_.segment;
    EXPECT_EQ(class_of(thence_notify(0, segment, 10, 1, 0)), MPI_ERR_ARG) << "there is no such notification";
    EXPECT_EQ(class_of(thence_notify(0, segment, UINT_MAX, 1, 0)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_notify(0, segment, 0, 0, 0)), MPI_ERR_ARG) << "the value is 0";
    EXPECT_EQ(class_of(thence_notify(0, nullptr, 0, 1, 0)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_notify(all_.size, segment, 0, 1, 0)), MPI_ERR_RANK);
    EXPECT_EQ(class_of(thence_notify(0, segment, 0, 1, 2)), MPI_ERR_ARG) << "there is no such queue";
    EXPECT_EQ(class_of(thence_put_notify(nullptr, 0, 0, segment, 0, 0, 0, 0, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_put_list_notify(0, nullptr, 0, segment, 10, 1, 0, nullptr)), MPI_ERR_ARG);
    int flag = 5;
    unsigned found = 5;
    std::uint32_t value = 5;
    MPI_Request request = MPI_REQUEST_NULL;
    for (const auto &[first, count] : {std::pair{0U, 11U}, {10U, 1U}, {11U, 0U}, {1U, UINT_MAX}}) {
        EXPECT_EQ(class_of(thence_notification_test(segment, first, count, &flag, &found)), MPI_ERR_ARG);
        EXPECT_EQ(class_of(thence_notification_wait(segment, first, count, &found)), MPI_ERR_ARG);
        EXPECT_EQ(class_of(thence_notification_request(segment, first, count, nullptr, &request)), MPI_ERR_ARG);
    }
    EXPECT_EQ(class_of(thence_notification_wait(segment, 0, 0, &found)), MPI_ERR_ARG) << "it would never end";
    EXPECT_EQ(class_of(thence_notification_test(segment, 0, 1, nullptr, &found)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_notification_test(nullptr, 0, 1, &flag, &found)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_notification_reset(segment, 10, &value)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_notification_reset(segment, 0, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_notification_request(segment, 0, 1, nullptr, nullptr)), MPI_ERR_ARG);
    const auto nothing = [](void *) {};
    EXPECT_EQ(class_of(thence_notification_continue(segment, 0, 1, nullptr, nullptr, nullptr, &flag)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_notification_continue(segment, 0, 1, nullptr, nothing, nullptr, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_notification_continue(segment, 0, 0, nullptr, nothing, nullptr, &flag)), MPI_ERR_ARG);
    EXPECT_EQ(flag, 5);
    EXPECT_EQ(found, 5U);
    EXPECT_EQ(value, 5U);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
}

TEST_F(onesided_faults, of_queues_and_queries) {
    int count = 3;
    EXPECT_EQ(class_of(thence_queue_flush(nullptr, 0)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_queue_flush(all_.space, 2)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_queue_size(all_.space, -1, &count)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_queue_size(all_.space, 0, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_queue_size(nullptr, 0, &count)), MPI_ERR_ARG);
    EXPECT_EQ(count, 3);
    thence_segment_info info{};
    EXPECT_EQ(class_of(thence_segment_query(nullptr, 0, &info, sizeof info)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_segment_query(all_.segment, -1, &info, sizeof info)), MPI_ERR_RANK);
    EXPECT_EQ(class_of(thence_segment_query(all_.segment, 0, nullptr, sizeof info)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(thence_segment_query(all_.segment, 0, &info, 8)), MPI_ERR_ARG);
}

} // namespace
