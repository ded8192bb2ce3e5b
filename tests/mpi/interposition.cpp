// SPDX-License-Identifier: BSD-3-Clause
// MPI's own calls on one continuation request. Arrays: interposition_arrays.cpp.
#include "interposition.hpp"

#include <functional>

namespace {

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

class handles_of_crs : public interposed {
protected:
    // A CR has an integer by `to`, and `from` gives the CR back. With MPI's own requests both do what MPI's do, which
    // are `by_mpi` after each other: that of Intel MPI under the standard ABI gives another handle back.
    template <class To, class From, class Both> void check_integers(To to, From from, Both by_mpi) {
        pending one;
        attach(one, 1, cr);
        const auto handle = to(cr);
        EXPECT_NE(to(MPI_REQUEST_NULL), handle);
        EXPECT_EQ(handle, to(cr)) << "it is always the same";
        MPI_Request back = from(handle);
        EXPECT_EQ(cr, back);
        send(1);
        ASSERT_EQ(MPI_SUCCESS, MPI_Wait(&back, MPI_STATUS_IGNORE));
        EXPECT_EQ(1, one.seen.calls.load());
        MPI_Request other = create(0);
        EXPECT_NE(handle, to(other));
        EXPECT_EQ(other, from(to(other)));
        ASSERT_EQ(MPI_SUCCESS, MPI_Request_free(&other));
        pending two;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&two.value, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &request);
        EXPECT_EQ(by_mpi(request), from(to(request)));
        const int value = 2;
        MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT_EQ(MPI_REQUEST_NULL, from(to(MPI_REQUEST_NULL)));
    }
};

#if defined(THENCE_MPI_FORTRAN_REQUESTS) // the header of the standard ABI has none
TEST_F(handles_of_crs, in_fortran) {
    check_integers([](MPI_Request request) { return MPI_Request_c2f(request); },
                   [](MPI_Fint handle) { return MPI_Request_f2c(handle); },
                   [](MPI_Request request) { return request; });
#if !defined(PMPI_Request_f2c)
    EXPECT_EQ(MPI_REQUEST_NULL, PMPI_Request_f2c(MPI_Request_c2f(cr))) << "what MPI's calls in Fortran ask";
#endif
}
#endif

#if defined(THENCE_MPI_INTEGER_REQUESTS) // MPI 5
TEST_F(handles_of_crs, as_integers) {
    check_integers(&MPI_Request_toint, &MPI_Request_fromint,
                   [](MPI_Request request) { return PMPI_Request_fromint(PMPI_Request_toint(request)); });
}
#endif

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

TEST_F(interposed, request_get_status_runs_continuations_of_a_poll_only_cr) {
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

TEST_F(interposed, a_freed_cr_is_released_after_its_last_continuation) {
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
