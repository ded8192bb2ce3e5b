// SPDX-License-Identifier: BSD-3-Clause
// The any, some and all forms of MPI's calls on continuation requests, alone and mixed with other requests.
#include "interposition.hpp"

namespace {

class interposed_arrays : public interposed {};

TEST_F(interposed_arrays, arrays_that_mpi_refuses_are_passed_to_it) {
#if defined(MPI_H_ABI)
    GTEST_SKIP() << "MPICH's own calls of the standard ABI crash on them";
#endif
    int value = -1;
    outcome seen;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &request);
    seen.attach(request, cr);
    MPI_Request one[1] = {cr};
    MPI_Request *none = nullptr;
    int index = 0;
    int flag = 0;
    EXPECT_NE(MPI_SUCCESS, MPI_Waitany(-1, one, &index, MPI_STATUS_IGNORE));
    EXPECT_NE(MPI_SUCCESS, MPI_Waitall(-1, one, MPI_STATUSES_IGNORE));
    EXPECT_NE(MPI_SUCCESS, MPI_Testall(1, none, &flag, MPI_STATUSES_IGNORE));
    EXPECT_EQ(0, seen.ended());
    MPI_Send(&rank, 1, MPI_INT, rank, 1, comm);
    wait();
    EXPECT_EQ(1, seen.ended());
}

TEST_F(interposed_arrays, testall_and_waitall_mixed) {
    pending one, two;
    int plain = 0;
    MPI_Request second = create(0);
    attach(one, 1, cr);
    attach(two, 2, second);
    MPI_Request all[4] = {cr, receive(plain, 3), MPI_REQUEST_NULL, second};
    MPI_Status statuses[4];
    int flag = 1;
    send(1);
    send(3);
    for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(MPI_SUCCESS, MPI_Testall(4, all, &flag, statuses));
        ASSERT_EQ(0, flag);
        ASSERT_NE(MPI_REQUEST_NULL, all[1]) << "Testall completes nothing unless all are complete";
    }
    send(2);
    ASSERT_EQ(MPI_SUCCESS, MPI_Waitall(4, all, statuses));
    EXPECT_EQ(1, one.seen.calls.load());
    EXPECT_EQ(1, two.seen.calls.load());
    EXPECT_EQ(103, plain);
    EXPECT_EQ(3, statuses[1].MPI_TAG);
    EXPECT_EQ(rank, statuses[1].MPI_SOURCE);
    expect_empty(statuses[0]);
    expect_empty(statuses[2]);
    expect_empty(statuses[3]);
    EXPECT_EQ(MPI_REQUEST_NULL, all[1]);
    EXPECT_EQ(cr, all[0]);
    ASSERT_EQ(MPI_SUCCESS, MPI_Testall(4, all, &flag, MPI_STATUSES_IGNORE));
    EXPECT_EQ(1, flag);
    MPI_Request_free(&second);
    EXPECT_EQ(MPI_REQUEST_NULL, second);
}

TEST_F(interposed_arrays, testany_and_waitany_mixed) {
    pending one;
    int plain = 0;
    attach(one, 1, cr);
    MPI_Request all[3] = {MPI_REQUEST_NULL, cr, receive(plain, 2)};
    MPI_Status status;
    int index = 99;
    int flag = 1;
    ASSERT_EQ(MPI_SUCCESS, MPI_Testany(3, all, &index, &flag, &status));
    EXPECT_EQ(0, flag);
    EXPECT_EQ(MPI_UNDEFINED, index);
    send(2);
    ASSERT_EQ(MPI_SUCCESS, MPI_Waitany(3, all, &index, &status));
    EXPECT_EQ(2, index);
    EXPECT_EQ(2, status.MPI_TAG);
    EXPECT_EQ(102, plain);
    EXPECT_EQ(MPI_REQUEST_NULL, all[2]);
    EXPECT_EQ(0, one.seen.calls.load());
    send(1);
    ASSERT_EQ(MPI_SUCCESS, MPI_Waitany(3, all, &index, &status));
    EXPECT_EQ(1, index);
    EXPECT_EQ(1, one.seen.calls.load());
    expect_empty(status);
}

TEST_F(interposed_arrays, testany_of_nothing_active_is_undefined) {
    pending one;
    MPI_Request not_started = create(THENCE_CR_NEEDS_START);
    attach(one, 1, cr);
    send(1);
    wait(); // so it is inactive again
    MPI_Request all[3] = {MPI_REQUEST_NULL, not_started, cr};
    int index = 7;
    int flag = 0;
    MPI_Status status;
    ASSERT_EQ(MPI_SUCCESS, MPI_Testany(3, all, &index, &flag, &status));
    EXPECT_EQ(1, flag);
    EXPECT_EQ(MPI_UNDEFINED, index);
    expect_empty(status);
    ASSERT_EQ(MPI_SUCCESS, MPI_Waitany(3, all, &index, MPI_STATUS_IGNORE));
    EXPECT_EQ(MPI_UNDEFINED, index);
    int found = 0;
    int indices[3];
    ASSERT_EQ(MPI_SUCCESS, MPI_Testsome(3, all, &found, indices, MPI_STATUSES_IGNORE));
    EXPECT_EQ(MPI_UNDEFINED, found);
    ASSERT_EQ(MPI_SUCCESS, MPI_Waitsome(3, all, &found, indices, MPI_STATUSES_IGNORE));
    EXPECT_EQ(MPI_UNDEFINED, found);
    MPI_Request_free(&not_started);
}

TEST_F(interposed_arrays, any_and_some_ignore_inactive_persistent_requests) {
    pending one;
    int unused = 0;
    MPI_Request all[2];
    MPI_Recv_init(&unused, 1, MPI_INT, rank, 9, comm, &all[0]);
    attach(one, 1, cr);
    all[1] = cr;
    int index = 99, flag = 1, found = 99;
    int indices[2];
    ASSERT_EQ(MPI_SUCCESS, MPI_Testany(2, all, &index, &flag, MPI_STATUS_IGNORE));
    EXPECT_EQ(0, flag);
    ASSERT_EQ(MPI_SUCCESS, MPI_Testsome(2, all, &found, indices, MPI_STATUSES_IGNORE));
    EXPECT_EQ(0, found);
    send(1);
    ASSERT_EQ(MPI_SUCCESS, MPI_Waitany(2, all, &index, MPI_STATUS_IGNORE));
    EXPECT_EQ(1, index);
    wait();
    EXPECT_EQ(1, one.seen.calls.load());
    MPI_Request_free(&all[0]);
}

TEST_F(interposed_arrays, testsome_and_waitsome_mixed) {
    pending one;
    int plain[2] = {};
    attach(one, 1, cr);
    MPI_Request all[4] = {receive(plain[0], 2), cr, MPI_REQUEST_NULL, receive(plain[1], 3)};
    int found = 99;
    int indices[4];
    MPI_Status statuses[4];
    ASSERT_EQ(MPI_SUCCESS, MPI_Testsome(4, all, &found, indices, statuses));
    EXPECT_EQ(0, found);
    send(3);
    ASSERT_EQ(MPI_SUCCESS, MPI_Waitsome(4, all, &found, indices, statuses));
    EXPECT_EQ(1, found);
    EXPECT_EQ(3, indices[0]);
    EXPECT_EQ(3, statuses[0].MPI_TAG);
    send(1);
    send(2);
    int done = 0;
    while (done < 2) {
        ASSERT_EQ(MPI_SUCCESS, MPI_Waitsome(4, all, &found, indices, statuses));
        ASSERT_GE(found, 1);
        for (int i = 0; i < found; ++i) {
            ASSERT_TRUE(indices[i] == 0 || indices[i] == 1);
            if (indices[i] == 0) {
                EXPECT_EQ(2, statuses[i].MPI_TAG);
            } else {
                expect_empty(statuses[i]);
            }
            ++done; // each is reported once
        }
    }
    EXPECT_EQ(1, one.seen.calls.load());
    EXPECT_EQ(102, plain[0]);
}

TEST_F(interposed_arrays, waitany_over_several_poll_only_crs) {
    constexpr int n = 4;
    MPI_Request crs[n];
    pending each[n];
    for (int i = 0; i < n; ++i) {
        crs[i] = create(THENCE_CR_POLL_ONLY);
        attach(each[i], i, crs[i]);
    }
    for (const int expected : {2, 0, 3, 1}) {
        send(expected);
        int index = 99;
        ASSERT_EQ(MPI_SUCCESS, MPI_Waitany(n, crs, &index, MPI_STATUS_IGNORE));
        ASSERT_EQ(expected, index);
        EXPECT_EQ(1, each[expected].seen.calls.load());
        MPI_Request_free(&crs[index]);
    }
}

#if defined(THENCE_MPI_GET_STATUS_FORMS)
TEST_F(interposed_arrays, forms_of_request_get_status_take_crs) {
    int value = -1;
    outcome seen;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &request);
    seen.attach(request, cr);
    MPI_Request plain = MPI_REQUEST_NULL;
    int other = -1;
    MPI_Irecv(&other, 1, MPI_INT, rank, 2, comm, &plain);
    MPI_Request all[3] = {MPI_REQUEST_NULL, cr, plain};
    MPI_Status statuses[3];
    int flag = -1;
    int index = -1;
    int found = -1;
    int indices[3];
    ASSERT_EQ(MPI_SUCCESS, MPI_Request_get_status_any(3, all, &index, &flag, statuses));
    EXPECT_EQ(0, flag);
    ASSERT_EQ(MPI_SUCCESS, MPI_Request_get_status_some(3, all, &found, indices, statuses));
    EXPECT_EQ(0, found);
    MPI_Send(&rank, 1, MPI_INT, rank, 1, comm);
    for (flag = 0; flag == 0;) {
        ASSERT_EQ(MPI_SUCCESS, MPI_Request_get_status_any(3, all, &index, &flag, statuses));
    }
    EXPECT_EQ(1, index);
    EXPECT_EQ(MPI_ANY_SOURCE, statuses[0].MPI_SOURCE);
    ASSERT_EQ(MPI_SUCCESS, MPI_Request_get_status_all(3, all, &flag, statuses));
    EXPECT_EQ(0, flag);
    MPI_Send(&rank, 1, MPI_INT, rank, 2, comm);
    for (flag = 0; flag == 0;) {
        ASSERT_EQ(MPI_SUCCESS, MPI_Request_get_status_all(3, all, &flag, statuses));
    }
    EXPECT_EQ(2, statuses[2].MPI_TAG);
    ASSERT_EQ(MPI_SUCCESS, MPI_Request_get_status_some(3, all, &found, indices, statuses));
    EXPECT_EQ(2, found);
    EXPECT_EQ(1, seen.ended());
    EXPECT_EQ(MPI_SUCCESS, MPI_Waitall(3, all, MPI_STATUSES_IGNORE));
    EXPECT_EQ(rank, other);
}
#endif

} // namespace
