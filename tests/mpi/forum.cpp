// SPDX-License-Identifier: BSD-3-Clause
// The Forum's interface between two ranks: started continuation requests, error codes in and out of callbacks, failed
// continuations kept for get_failed.
#include "support.hpp"

#include <thence/mpix_continue_forum.h>

#include <set>

namespace {

class forum : public mpi_test {
protected:
    MPI_Request fcr = MPI_REQUEST_NULL;
    struct seen {
        std::atomic<int> calls{0};
        int rc = -1;
        int result = MPI_SUCCESS;
        MPI_Status status{};
        static int callback(int rc, void *data) {
            auto &self = *static_cast<seen *>(data);
            self.rc = rc;
            ++self.calls;
            return self.result;
        }
    };
    void SetUp() override {
        mpi_test::SetUp();
        ASSERT_EQ(MPI_SUCCESS, MPIX_Continue_init(0, 0, MPI_INFO_NULL, &fcr));
    }
    void TearDown() override {
        EXPECT_EQ(MPI_SUCCESS, MPI_Request_free(&fcr));
        mpi_test::TearDown();
    }
    void attach_receive(int &value, int tag, seen &to, int flags = 0) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&value, 1, MPI_INT, rank, tag, comm, &request);
        ASSERT_EQ(MPI_SUCCESS, MPIX_Continue(&request, &seen::callback, &to, flags, &to.status, fcr));
        ASSERT_EQ(MPI_REQUEST_NULL, request);
    }
    void send(int tag) { MPI_Send(&rank, 1, MPI_INT, rank, tag, comm); }

    // A receive on rank 0 that fails because the message of rank 1 is too long. Both ranks call it.
    void attach_truncated(int &room, int tag, seen &to, int flags) {
        if (rank == 0) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&room, 1, MPI_INT, 1, tag, comm, &request);
            ASSERT_EQ(MPI_SUCCESS, MPIX_Continue(&request, &seen::callback, &to, flags, &to.status, fcr));
            tell(1);
        } else {
            const int two[2] = {1, 2};
            await(0);
            MPI_Send(two, 2, MPI_INT, 0, tag, comm);
        }
    }
};

TEST_F(forum, no_info_key_loses_a_deferred_complete_operation) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_continue_enqueue_complete", "false");
    MPI_Request other = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_SUCCESS, MPIX_Continue_init(0, 0, info, &other));
    MPI_Info_free(&info);
    ASSERT_EQ(MPI_SUCCESS, MPI_Start(&other));
    seen one;
    MPI_Request complete = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_SUCCESS,
              MPIX_Continue(&complete, &seen::callback, &one, MPIX_CONT_DEFER_COMPLETE, &one.status, other));
    EXPECT_EQ(0, one.calls);
    ASSERT_EQ(MPI_SUCCESS, MPI_Wait(&other, MPI_STATUS_IGNORE));
    EXPECT_EQ(1, one.calls);
    ASSERT_EQ(MPI_SUCCESS, MPI_Request_free(&other));
}
TEST_F(forum, nothing_runs_before_start) {
    int value = -1;
    seen one;
    attach_receive(value, 1, one);
    send(1);
    for (int i = 0; i < 20; ++i) {
        thence_progress();
    }
    EXPECT_EQ(0, one.calls.load());
    MPI_Start(&fcr);
    EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&fcr, MPI_STATUS_IGNORE));
    EXPECT_EQ(1, one.calls.load());
    EXPECT_EQ(MPI_SUCCESS, one.rc);
    EXPECT_EQ(rank, value);
    EXPECT_EQ(1, one.status.MPI_TAG);
}

TEST_F(forum, inactive_again_after_completion) {
    int value = 0;
    seen one, two;
    MPI_Start(&fcr);
    attach_receive(value, 1, one);
    send(1);
    MPI_Wait(&fcr, MPI_STATUS_IGNORE);
    EXPECT_EQ(1, one.calls.load());
    attach_receive(value, 2, two);
    send(2);
    for (int i = 0; i < 20; ++i) {
        thence_progress();
    }
    EXPECT_EQ(0, two.calls.load());
    MPI_Start(&fcr);
    MPI_Wait(&fcr, MPI_STATUS_IGNORE);
    EXPECT_EQ(1, two.calls.load());
}

TEST_F(forum, complete_operation_runs_its_callback_too) {
    for (const int flags : {0, MPIX_CONT_DEFER_COMPLETE}) {
        int value = 0;
        seen one;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Start(&fcr);
        MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &request);
        send(1);
        for (int flag = 0; flag == 0;) {
            MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        }
        ASSERT_EQ(MPI_SUCCESS, MPIX_Continue(&request, &seen::callback, &one, flags, &one.status, fcr));
        if (flags == MPIX_CONT_DEFER_COMPLETE) {
            EXPECT_EQ(0, one.calls.load()) << "not inside the call";
        }
        MPI_Wait(&fcr, MPI_STATUS_IGNORE);
        EXPECT_EQ(1, one.calls.load());
    }
}

TEST_F(forum, failed_operation_is_kept_for_get_failed_and_not_invoked) {
    int room = 0, value = 0;
    seen bad, good;
    MPI_Start(&fcr);
    attach_truncated(room, 1, bad, 0);
    attach_receive(value, 2, good);
    send(2);
    const int code = MPI_Wait(&fcr, MPI_STATUS_IGNORE);
    EXPECT_EQ(1, good.calls.load());
    if (rank == 0) {
        EXPECT_EQ(MPI_ERR_TRUNCATE, class_of(code));
        EXPECT_EQ(0, bad.calls.load());
        EXPECT_EQ(MPI_ERR_TRUNCATE, class_of(bad.status.MPI_ERROR));
        void *failed[4] = {};
        int count = 4;
        ASSERT_EQ(MPI_SUCCESS, MPIX_Continue_get_failed(fcr, &count, failed));
        EXPECT_EQ(1, count);
        EXPECT_EQ(static_cast<void *>(&bad), failed[0]);
        count = 4;
        MPIX_Continue_get_failed(fcr, &count, failed);
        EXPECT_EQ(0, count) << "a failed one is returned once";
    } else {
        EXPECT_EQ(MPI_SUCCESS, code);
    }
    // the CR can be used again
    seen again;
    EXPECT_EQ(MPI_SUCCESS, MPI_Start(&fcr));
    attach_receive(value, 3, again);
    send(3);
    EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&fcr, MPI_STATUS_IGNORE));
    EXPECT_EQ(1, again.calls.load());
}

TEST_F(forum, invoke_failed_runs_the_callback_with_the_error) {
    int room = 0;
    seen bad;
    MPI_Start(&fcr);
    attach_truncated(room, 1, bad, MPIX_CONT_INVOKE_FAILED);
    MPI_Wait(&fcr, MPI_STATUS_IGNORE);
    if (rank == 0) {
        EXPECT_EQ(1, bad.calls.load());
        EXPECT_EQ(MPI_ERR_TRUNCATE, class_of(bad.rc));
    }
    void *failed[1];
    int count = 1;
    MPIX_Continue_get_failed(fcr, &count, failed);
}

TEST_F(forum, several_failed_are_returned_in_portions_each_once) {
    constexpr int n = 5;
    int rooms[n];
    seen bad[n];
    MPI_Start(&fcr);
    for (int i = 0; i < n; ++i) {
        attach_truncated(rooms[i], i, bad[i], 0);
    }
    const int code = MPI_Wait(&fcr, MPI_STATUS_IGNORE);
    if (rank != 0) {
        return;
    }
    EXPECT_EQ(MPI_ERR_TRUNCATE, class_of(code));
    std::set<void *> all;
    for (int count = 2; count == 2;) {
        void *failed[2];
        ASSERT_EQ(MPI_SUCCESS, MPIX_Continue_get_failed(fcr, &count, failed));
        for (int i = 0; i < count; ++i) {
            EXPECT_TRUE(all.insert(failed[i]).second);
        }
    }
    EXPECT_EQ(static_cast<std::size_t>(n), all.size());
    for (const seen &one : bad) {
        EXPECT_EQ(0, one.calls.load());
        EXPECT_EQ(1U, all.count(const_cast<seen *>(&one)));
    }
}

TEST_F(forum, error_returned_by_a_callback_marks_it_failed_and_leaves_the_cr) {
    int value = 0;
    seen bad, good;
    bad.result = MPI_ERR_OTHER;
    MPI_Start(&fcr);
    attach_receive(value, 1, bad);
    send(1);
    EXPECT_NE(MPI_SUCCESS, MPI_Wait(&fcr, MPI_STATUS_IGNORE));
    EXPECT_EQ(1, bad.calls.load());
    EXPECT_EQ(1, thence_is_cr(fcr));
    void *failed[2];
    int count = 2;
    ASSERT_EQ(MPI_SUCCESS, MPIX_Continue_get_failed(fcr, &count, failed));
    EXPECT_EQ(1, count);
    EXPECT_EQ(static_cast<void *>(&bad), failed[0]);
    MPI_Start(&fcr);
    attach_receive(value, 2, good);
    send(2);
    EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&fcr, MPI_STATUS_IGNORE));
    EXPECT_EQ(1, good.calls.load());
}

TEST_F(forum, max_poll_is_no_limit_where_it_is_undefined) {
    MPI_Request unlimited = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_SUCCESS, MPIX_Continue_init(MPIX_CONT_POLL_ONLY, MPI_UNDEFINED, MPI_INFO_NULL, &unlimited));
    MPI_Start(&unlimited);
    seen each[3];
    int values[3];
    for (int i = 0; i < 3; ++i) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&values[i], 1, MPI_INT, rank, i, comm, &request);
        ASSERT_EQ(MPI_SUCCESS, MPIX_Continue(&request, &seen::callback, &each[i], 0, MPI_STATUS_IGNORE, unlimited));
        send(i);
    }
    EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&unlimited, MPI_STATUS_IGNORE));
    EXPECT_EQ(3, each[0].calls + each[1].calls + each[2].calls);
    MPI_Request_free(&unlimited);
}

TEST_F(forum, group_and_poll_only_and_max_poll) {
    MPI_Request bounded = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_SUCCESS, MPIX_Continue_init(MPIX_CONT_POLL_ONLY, 1, MPI_INFO_NULL, &bounded));
    MPI_Start(&bounded);
    seen each[3];
    int values[6];
    MPI_Status statuses[6];
    for (int i = 0; i < 3; ++i) {
        MPI_Request pair[2];
        MPI_Irecv(&values[2 * i], 1, MPI_INT, rank, 2 * i, comm, &pair[0]);
        MPI_Irecv(&values[2 * i + 1], 1, MPI_INT, rank, 2 * i + 1, comm, &pair[1]);
        ASSERT_EQ(MPI_SUCCESS, MPIX_Continueall(2, pair, &seen::callback, &each[i], MPIX_CONT_REQBUF_VOLATILE,
                                                &statuses[2 * i], bounded));
    }
    for (int i = 0; i < 6; ++i) {
        send(i);
    }
    const auto ran = [&] { return each[0].calls + each[1].calls + each[2].calls; };
    for (int i = 0; i < 20; ++i) {
        thence_progress();
    }
    EXPECT_EQ(0, ran());
    for (int flag = 0; flag == 0;) {
        const int before = ran();
        MPI_Test(&bounded, &flag, MPI_STATUS_IGNORE);
        ASSERT_LE(ran() - before, 1);
    }
    EXPECT_EQ(3, ran());
    for (int i = 0; i < 6; ++i) {
        EXPECT_EQ(i, statuses[i].MPI_TAG);
    }
    MPI_Request_free(&bounded);
}

TEST_F(forum, bad_arguments_are_refused) {
    MPI_Request made = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_ERR_ARG, class_of(MPIX_Continue_init(1 << 20, 0, MPI_INFO_NULL, &made)));
    EXPECT_EQ(MPI_ERR_ARG, class_of(MPIX_Continue_init(0, -1, MPI_INFO_NULL, &made)));
    EXPECT_EQ(MPI_ERR_ARG, class_of(MPIX_Continue_init(0, 0, MPI_INFO_NULL, nullptr)));
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_continue_thread", "nobody");
    EXPECT_EQ(MPI_ERR_INFO_VALUE, class_of(MPIX_Continue_init(0, 0, info, &made)));
    MPI_Info_free(&info);
    EXPECT_EQ(MPI_REQUEST_NULL, made);
    int value = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    seen one;
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &request);
    const MPI_Request before = request;
    EXPECT_EQ(MPI_ERR_ARG, class_of(MPIX_Continue(&request, &seen::callback, &one, 1 << 20, &one.status, fcr)));
    EXPECT_EQ(MPI_ERR_ARG, class_of(MPIX_Continue(&request, nullptr, &one, 0, &one.status, fcr)));
    EXPECT_EQ(MPI_ERR_REQUEST,
              class_of(MPIX_Continue(&request, &seen::callback, &one, 0, &one.status, MPI_REQUEST_NULL)));
    EXPECT_EQ(before, request);
    send(1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(0, one.calls.load());
}

} // namespace
