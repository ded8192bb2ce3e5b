// SPDX-License-Identifier: BSD-3-Clause
// MPI's own calls on continuation requests, alone and mixed with ordinary requests, on one rank or more (messages go to
// the rank itself).
#include "support.hpp"

#include <functional>

namespace {

class interposed : public mpi_test {
protected:
    MPI_Request receive(int &value, int tag) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&value, 1, MPI_INT, rank, tag, comm, &request);
        return request;
    }
    void send(int tag) {
        const int value = 100 + tag;
        MPI_Send(&value, 1, MPI_INT, rank, tag, comm);
    }
    MPI_Request create(unsigned flags) {
        MPI_Request result = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_SUCCESS, thence_cr_create(flags, -1, MPI_INFO_NULL, &result));
        return result;
    }
    // A receive with a continuation on `to`, complete after send(tag).
    struct pending {
        int value = 0;
        outcome seen;
    };
    void attach(pending &one, int tag, MPI_Request to) {
        MPI_Request request = receive(one.value, tag);
        one.seen.attach(request, to);
        ASSERT_EQ(0, one.seen.ended());
    }
    static void expect_empty(const MPI_Status &status) {
        EXPECT_EQ(MPI_ANY_SOURCE, status.MPI_SOURCE);
        EXPECT_EQ(MPI_ANY_TAG, status.MPI_TAG);
    }
};

TEST_F(interposed, test_and_wait_of_a_cr) {
    pending one;
    MPI_Status status;
    int flag = 0;
    ASSERT_EQ(MPI_SUCCESS, MPI_Test(&cr, &flag, &status));
    EXPECT_EQ(1, flag) << "inactive";
    expect_empty(status);
    attach(one, 1, cr);
    ASSERT_EQ(MPI_SUCCESS, MPI_Test(&cr, &flag, &status));
    EXPECT_EQ(0, flag);
    send(1);
    ASSERT_EQ(MPI_SUCCESS, MPI_Wait(&cr, &status));
    expect_empty(status);
    EXPECT_EQ(1, one.seen.calls.load());
    EXPECT_EQ(101, one.value);
    EXPECT_EQ(1, thence_is_cr(cr)) << "it stays usable";
}

TEST_F(interposed, arrays_that_mpi_refuses_are_left_to_it) {
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

TEST_F(interposed, a_stale_cr_is_refused_by_every_form) {
    MPI_Request stale = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_SUCCESS, thence_cr_create(0, -1, MPI_INFO_NULL, &stale));
    MPI_Request handle = stale;
    ASSERT_EQ(MPI_SUCCESS, MPI_Request_free(&handle));
    int index = 0;
    int flag = 0;
    int indices[1];
    MPI_Status statuses[1];
    const auto again = [&] { return &(handle = stale); };
    EXPECT_NE(MPI_SUCCESS, MPI_Wait(again(), MPI_STATUS_IGNORE));
    EXPECT_NE(MPI_SUCCESS, MPI_Test(again(), &flag, MPI_STATUS_IGNORE));
    EXPECT_NE(MPI_SUCCESS, MPI_Waitany(1, again(), &index, MPI_STATUS_IGNORE));
    EXPECT_NE(MPI_SUCCESS, MPI_Testany(1, again(), &index, &flag, MPI_STATUS_IGNORE));
    EXPECT_NE(MPI_SUCCESS, MPI_Waitsome(1, again(), &index, indices, statuses));
    EXPECT_NE(MPI_SUCCESS, MPI_Testsome(1, again(), &index, indices, statuses));
    EXPECT_NE(MPI_SUCCESS, MPI_Waitall(1, again(), statuses));
    EXPECT_NE(MPI_SUCCESS, MPI_Testall(1, again(), &flag, statuses));
    EXPECT_NE(MPI_SUCCESS, MPI_Request_get_status(stale, &flag, MPI_STATUS_IGNORE));
    EXPECT_NE(MPI_SUCCESS, MPI_Cancel(again()));
    EXPECT_NE(MPI_SUCCESS, MPI_Start(again()));
    EXPECT_NE(MPI_SUCCESS, MPI_Request_free(again()));
}

#if defined(THENCE_MPI_GET_STATUS_FORMS)
TEST_F(interposed, forms_of_request_get_status_take_crs) {
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

TEST_F(interposed, request_get_status_runs_what_only_a_test_may_run) {
    pending each[4];
    MPI_Request poll_only = create(THENCE_CR_POLL_ONLY);
    int flag = 0;
    const auto expect_complete = [&](int i, const std::function<int()> &look) {
        attach(each[i], i, poll_only);
        EXPECT_EQ(MPI_SUCCESS, look());
        EXPECT_EQ(0, flag);
        EXPECT_EQ(0, each[i].seen.calls.load());
        send(i);
        while (flag == 0) {
            ASSERT_EQ(MPI_SUCCESS, look());
        }
        EXPECT_EQ(1, each[i].seen.calls.load());
    };
    MPI_Status status;
    expect_complete(0, [&] { return MPI_Request_get_status(poll_only, &flag, &status); });
    expect_empty(status);
#if defined(THENCE_MPI_GET_STATUS_FORMS)
    int index = -1;
    expect_complete(1, [&] { return MPI_Request_get_status_any(1, &poll_only, &index, &flag, &status); });
    EXPECT_EQ(0, index);
    expect_complete(2, [&] { return MPI_Request_get_status_some(1, &poll_only, &flag, &index, &status); });
    expect_complete(3, [&] { return MPI_Request_get_status_all(1, &poll_only, &flag, &status); });
    expect_empty(status);
#endif
    MPI_Request_free(&poll_only);
}

TEST_F(interposed, request_get_status_of_a_cr_changes_nothing) {
    pending one;
    int flag = 0;
    MPI_Request poll_only = create(THENCE_CR_POLL_ONLY);
    ASSERT_EQ(MPI_SUCCESS, MPI_Request_get_status(cr, &flag, MPI_STATUS_IGNORE));
    EXPECT_EQ(1, flag);
    attach(one, 1, cr);
    ASSERT_EQ(MPI_SUCCESS, MPI_Request_get_status(cr, &flag, MPI_STATUS_IGNORE));
    EXPECT_EQ(0, flag);
    send(1);
    while (flag == 0) {
        ASSERT_EQ(MPI_SUCCESS, MPI_Request_get_status(cr, &flag, MPI_STATUS_IGNORE));
    }
    EXPECT_EQ(1, one.seen.calls.load());
    EXPECT_EQ(1, thence_is_cr(cr));
    MPI_Request_free(&poll_only);
}

TEST_F(interposed, testall_and_waitall_mixed) {
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
        ASSERT_NE(MPI_REQUEST_NULL, all[1]) << "Testall that says no completes nothing";
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

TEST_F(interposed, testany_and_waitany_mixed) {
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

TEST_F(interposed, testany_of_nothing_active_is_undefined) {
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

TEST_F(interposed, any_and_some_ignore_inactive_persistent_requests) {
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

TEST_F(interposed, testsome_and_waitsome_mixed) {
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

TEST_F(interposed, start_and_startall_of_crs_mixed_with_persistent_requests) {
    MPI_Request both[2] = {create(THENCE_CR_NEEDS_START), MPI_REQUEST_NULL};
    int value = 0;
    MPI_Recv_init(&value, 1, MPI_INT, rank, 5, comm, &both[1]);
    pending one;
    MPI_Request request = receive(one.value, 4);
    one.seen.attach(request, both[0]);
    send(4);
    for (int i = 0; i < 20; ++i) {
        thence_progress();
    }
    EXPECT_EQ(0, one.seen.ended()) << "not started";
    ASSERT_EQ(MPI_SUCCESS, MPI_Startall(2, both));
    EXPECT_EQ(MPI_ERR_REQUEST, class_of(MPI_Start(&both[0]))) << "active already";
    send(5);
    ASSERT_EQ(MPI_SUCCESS, MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
    EXPECT_EQ(1, one.seen.calls.load());
    EXPECT_EQ(105, value);
    ASSERT_EQ(MPI_SUCCESS, MPI_Start(&both[0]));
    ASSERT_EQ(MPI_SUCCESS, MPI_Wait(&both[0], MPI_STATUS_IGNORE));
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
}

TEST_F(interposed, freed_cr_goes_with_its_last_continuation) {
    pending one;
    MPI_Request freed = create(0);
    MPI_Request copy = freed;
    attach(one, 1, freed);
    ASSERT_EQ(MPI_SUCCESS, MPI_Request_free(&freed));
    EXPECT_EQ(MPI_REQUEST_NULL, freed);
    EXPECT_EQ(0, thence_is_cr(copy));
    EXPECT_EQ(MPI_ERR_REQUEST, class_of(MPI_Wait(&copy, MPI_STATUS_IGNORE)));
    send(1);
    while (one.seen.calls.load() == 0) {
        thence_progress();
    }
    EXPECT_EQ(101, one.value);
}

TEST_F(interposed, waitany_over_several_poll_only_crs) {
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

TEST_F(interposed, poll_only_runs_only_when_its_cr_is_tested) {
    pending one;
    MPI_Request poll_only = create(THENCE_CR_POLL_ONLY);
    attach(one, 1, poll_only);
    send(1);
    int unused = 0;
    for (int i = 0; i < 50; ++i) {
        int flag = 0;
        MPI_Iprobe(rank, 77, comm, &flag, MPI_STATUS_IGNORE);
        thence_progress();
        MPI_Test(&cr, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Sendrecv(&rank, 1, MPI_INT, rank, 3, &unused, 1, MPI_INT, rank, 3, comm, MPI_STATUS_IGNORE);
    EXPECT_EQ(0, one.seen.calls.load());
    ASSERT_EQ(MPI_SUCCESS, MPI_Wait(&poll_only, MPI_STATUS_IGNORE));
    EXPECT_EQ(1, one.seen.calls.load());
    MPI_Request_free(&poll_only);
}

TEST_F(interposed, max_poll_bounds_one_test) {
    constexpr int n = 10;
    pending each[n];
    MPI_Request bounded = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_SUCCESS, thence_cr_create(THENCE_CR_POLL_ONLY, 3, MPI_INFO_NULL, &bounded));
    for (int i = 0; i < n; ++i) {
        attach(each[i], i, bounded);
    }
    for (int i = 0; i < n; ++i) {
        send(i);
    }
    const auto ran = [&] {
        int sum = 0;
        for (const pending &one : each) {
            sum += one.seen.calls.load();
        }
        return sum;
    };
    for (int flag = 0; flag == 0;) {
        const int before = ran();
        ASSERT_EQ(MPI_SUCCESS, MPI_Test(&bounded, &flag, MPI_STATUS_IGNORE));
        ASSERT_LE(ran() - before, 3);
    }
    EXPECT_EQ(n, ran());
    MPI_Request_free(&bounded);
}

} // namespace
