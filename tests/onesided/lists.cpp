// SPDX-License-Identifier: BSD-3-Clause
// Requests for lists of operations.
#include "one_process.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace thence::fake {
namespace {

class list_requests : public one_process {
protected:
    list_requests() {
        thence::mpi::table.Status_set_elements = [](MPI_Status *, MPI_Datatype, int) { return int{MPI_SUCCESS}; };
        thence::mpi::table.Status_set_cancelled = [](MPI_Status *, int) { return int{MPI_SUCCESS}; };
    }
    static bool is_complete(MPI_Request &request, int &code) {
        int flag = 0;
        code = thence::mpi::table.Test(&request, &flag, MPI_STATUS_IGNORE);
        return flag != 0 || code != MPI_SUCCESS;
    }
    std::vector<thence_piece> pieces() {
        return {{local.data(), 40'000, segment, 0},
                {local.data() + 40'000, 8, segment, 40'000},
                {nullptr, 0, segment, bytes},
                {local.data() + 40'008, 50'000, segment, 40'008}};
    }
    // The data leave, but the request of the first message with data is not complete before release().
    static void hold_first_data() {
        held = MPI_REQUEST_NULL;
        instead_of_send = [](const void *buffer, int count, int tag, MPI_Comm comm, MPI_Request *made) {
            const bool holds = tag != 0 && held == MPI_REQUEST_NULL;
            const int error = send_of_fake(buffer, count, MPI_BYTE, 0, tag, comm, holds ? &left : made);
            if (holds) {
                *made = held = world.start();
            }
            return error;
        };
    }
    static void release() {
        world.complete(held);
        EXPECT_EQ(thence::mpi::table.Wait(&left, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    unsigned char *memory() {
        thence_segment_info info{};
        EXPECT_EQ(thence_segment_query(segment, 0, &info, sizeof info), MPI_SUCCESS);
        return static_cast<unsigned char *>(info.memory);
    }

    static inline MPI_Request left;
    static inline MPI_Request held;
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
};

TEST_F(list_requests, are_complete_when_all_pieces_are) {
    local.fill(3);
    const std::vector<thence_piece> put = pieces();
    hold_first_data();
    ASSERT_EQ(thence_put_list_notify(4, put.data(), 0, segment, 1, 9, 0, &request), MPI_SUCCESS);
    instead_of_send = nullptr;
    ASSERT_NE(request, MPI_REQUEST_NULL);
    EXPECT_EQ(queue_size(), 0) << "they are not of the queue";
    EXPECT_EQ(thence_segment_free(&segment), MPI_ERR_PENDING);
    EXPECT_EQ(thence_space_free(&space), MPI_ERR_PENDING);
    EXPECT_TRUE(eventually([&] { return value_of(1) == 9; })) << "all has arrived";
    for (int i = 0; i < 1000; ++i) {
        ASSERT_FALSE(is_complete(request, code));
    }
    release();
    EXPECT_TRUE(eventually([&] { return is_complete(request, code); }));
    EXPECT_EQ(code, MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_TRUE(std::all_of(memory(), memory() + 90'008, [](unsigned char each) { return each == 3; }));

    local.fill(0);
    const std::vector<thence_piece> got = pieces();
    ASSERT_EQ(thence_get_list(4, got.data(), 0, 1, &request), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return is_complete(request, code); }));
    EXPECT_EQ(code, MPI_SUCCESS);
    EXPECT_TRUE(std::all_of(local.begin(), local.begin() + 90'008, [](unsigned char each) { return each == 3; }));
}

TEST_F(list_requests, may_have_continuations) {
    cr c;
    const std::vector<thence_piece> put = pieces();
    ASSERT_EQ(thence_put_list(4, put.data(), 0, 0, &request), MPI_SUCCESS);
    int ran = 0;
    const auto count = [](int error, MPI_Status *, void *data) {
        *static_cast<int *>(data) += error == MPI_SUCCESS ? 1 : 100;
        return int{MPI_SUCCESS};
    };
    int flag = 1;
    ASSERT_EQ(thence_attach(1, &request, count, &ran, 0, MPI_STATUSES_IGNORE, c, &flag), MPI_SUCCESS);
    if (flag == 0) { // else the helper has completed it already
        EXPECT_TRUE(eventually([&] { return ran != 0; }));
        EXPECT_EQ(ran, 1);
    }
}

TEST_F(list_requests, are_null_if_all_is_complete_at_once) {
    request = MPI_Request(world.start());
    MPI_Request other = request;
    const thence_piece small{local.data(), 8, segment, 0};
    EXPECT_EQ(thence_put_list(1, &small, 0, 0, &request), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    request = other;
    EXPECT_EQ(thence_put_list(0, nullptr, 0, 0, &request), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    request = other;
    EXPECT_EQ(thence_put_list_notify(0, nullptr, 0, segment, 2, 5, 0, &request), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_TRUE(eventually([&] { return value_of(2) == 5; }));
    world.complete(other);
    thence::mpi::table.Wait(&other, MPI_STATUS_IGNORE);
}

TEST_F(list_requests, leave_the_pieces_before_one_that_fails_to_the_queue) {
    static int data_messages;
    data_messages = 0;
    instead_of_send = [](const void *buffer, int count, int tag, MPI_Comm comm, MPI_Request *made) {
        return tag != 0 && ++data_messages == 2 ? int{MPI_ERR_OTHER}
                                                : send_of_fake(buffer, count, MPI_BYTE, 0, tag, comm, made);
    };
    const std::vector<thence_piece> put = pieces();
    EXPECT_EQ(thence_put_list_notify(4, put.data(), 0, segment, 1, 9, 1, &request), MPI_ERR_OTHER);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_EQ(thence_queue_flush(space, 1), MPI_SUCCESS) << "what was started goes on";
    EXPECT_EQ(queue_size(1), 0);
    EXPECT_EQ(value_of(1), 0U);
}

TEST_F(list_requests, tell_the_error_of_a_piece) {
    onesided::segment &removed = *onesided::object_of(segment);
    inside().remove_segment(removed); // as if the target had deleted it meanwhile
    const std::vector<thence_piece> got = pieces();
    ASSERT_EQ(thence_get_list(4, got.data(), 0, 0, &request), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return is_complete(request, code); }));
    EXPECT_EQ(code, MPI_ERR_OTHER);
    EXPECT_TRUE(inside().add_segment(removed));
}

// An operation with more data than one message moves. The last of its messages is short.
class several_messages : public list_requests {
protected:
    static constexpr std::size_t moved = 90'008;
    several_messages() : before_(std::exchange(onesided::most_in_message, std::uint64_t{30'000})) {}
    ~several_messages() override { onesided::most_in_message = before_; }
    onesided::completion tagged(std::uint64_t tag) const {
        onesided::completion how;
        how.tag = tag;
        how.completions = 1;
        return how;
    }
    onesided::queue &queue() { return inside().queue_of(1); }
    unsigned take() {
        queue().look();
        return queue().take_tags(16, tags);
    }
    bool has_arrived() {
        return std::all_of(memory(), memory() + moved, [](unsigned char each) { return each == 3; });
    }

    onesided::completed_tag tags[16] = {};

private:
    std::uint64_t before_;
};

TEST_F(several_messages, have_one_request_that_is_complete_when_all_are) {
    local.fill(3);
    hold_first_data();
    ASSERT_EQ(thence_put_notify(local.data(), moved, 0, segment, 0, 1, 9, 1, &request), MPI_SUCCESS);
    instead_of_send = nullptr;
    EXPECT_TRUE(eventually([&] { return value_of(1) == 9; }));
    EXPECT_TRUE(has_arrived());
    for (int i = 0; i < 1000; ++i) {
        ASSERT_FALSE(is_complete(request, code));
    }
    release();
    EXPECT_TRUE(eventually([&] { return is_complete(request, code); }));
    EXPECT_EQ(code, MPI_SUCCESS);
    local.fill(0);
    ASSERT_EQ(thence_get(local.data(), moved, 0, segment, 0, 1, &request), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return is_complete(request, code); }));
    EXPECT_EQ(code, MPI_SUCCESS);
    EXPECT_TRUE(std::all_of(local.begin(), local.begin() + moved, [](unsigned char each) { return each == 3; }));
    local.fill(3);
    ASSERT_EQ(thence_put(local.data(), moved, 0, segment, 0, 1, &request), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return is_complete(request, code); }));
    EXPECT_EQ(queue_size(1), 0);
}

TEST_F(several_messages, have_one_tag_that_comes_when_all_are_complete) {
    local.fill(3);
    hold_first_data();
    const onesided::location to{onesided::object_of(segment), 0, 0};
    ASSERT_EQ(onesided::put(local.data(), moved, to, {to.remote_segment, 1, 9}, 1, tagged(5)), MPI_SUCCESS);
    instead_of_send = nullptr;
    EXPECT_TRUE(eventually([&] { return value_of(1) == 9; }));
    for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ(take(), 0U);
    }
    release();
    EXPECT_TRUE(eventually([&] { return take() == 1; }));
    EXPECT_EQ(tags[0].tag, 5U);
    EXPECT_EQ(tags[0].error, MPI_SUCCESS);
    EXPECT_EQ(queue_size(1), 0);
    EXPECT_TRUE(has_arrived());
}

TEST_F(several_messages, have_a_tag_that_does_not_wait_for_operations_before) {
    hold_first_data();
    const onesided::location to{onesided::object_of(segment), 0, 0};
    ASSERT_EQ(onesided::put(local.data(), 20'000, to, {}, 1, tagged(4)), MPI_SUCCESS);
    instead_of_send = nullptr;
    ASSERT_EQ(onesided::put(local.data(), moved, to, {}, 1, tagged(5)), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return take() == 1; }));
    EXPECT_EQ(tags[0].tag, 5U);
    EXPECT_EQ(queue_size(1), 1) << "the one before";
    release();
    EXPECT_TRUE(eventually([&] { return take() == 1; }));
    EXPECT_EQ(tags[0].tag, 4U);
    EXPECT_EQ(queue_size(1), 0);
}

TEST_F(several_messages, tell_by_their_tag_that_one_of_them_has_failed) {
    onesided::segment &removed = *onesided::object_of(segment);
    inside().remove_segment(removed); // as if the target had deleted it meanwhile
    ASSERT_EQ(onesided::get(local.data(), moved, {&removed, 0, 0}, 1, tagged(6)), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return take() == 1; }));
    EXPECT_EQ(tags[0].tag, 6U);
    EXPECT_EQ(tags[0].error, MPI_ERR_OTHER);
    EXPECT_TRUE(inside().add_segment(removed));
    queue().forget_complete();
}

TEST_F(several_messages, set_no_notification_if_one_of_them_has_failed) {
    static std::atomic<int> received;
    received = 0;
    refuses_receive = [](int tag) { return tag >= 2 && ++received == 2; };
    ASSERT_EQ(thence_put_notify(local.data(), moved, 0, segment, 0, 1, 9, 1, nullptr), MPI_SUCCESS);
    ASSERT_EQ(thence_notify(0, segment, 2, 1, 1), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return value_of(2) == 1; })) << "all is done";
    EXPECT_EQ(value_of(1), 0U);
    EXPECT_TRUE(eventually([&] { return thence_queue_flush(space, 1) == MPI_ERR_OTHER; }));
}

TEST_F(several_messages, have_no_tag_if_not_all_could_be_started) {
    static int data_messages;
    data_messages = 0;
    instead_of_send = [](const void *buffer, int count, int tag, MPI_Comm comm, MPI_Request *made) {
        return tag != 0 && ++data_messages == 2 ? int{MPI_ERR_OTHER}
                                                : send_of_fake(buffer, count, MPI_BYTE, 0, tag, comm, made);
    };
    const onesided::location to{onesided::object_of(segment), 0, 0};
    EXPECT_EQ(onesided::put(local.data(), moved, to, {to.remote_segment, 1, 9}, 1, tagged(7)), MPI_ERR_OTHER);
    EXPECT_TRUE(eventually([&] { return queue_size(1) == 0; }));
    EXPECT_EQ(take(), 0U);
    EXPECT_EQ(value_of(1), 0U);
    EXPECT_EQ(thence_put(local.data(), moved, 0, segment, 0, 1, &request), MPI_SUCCESS) << "only the second one failed";
    EXPECT_TRUE(eventually([&] { return is_complete(request, code); }));
}

} // namespace
} // namespace thence::fake
