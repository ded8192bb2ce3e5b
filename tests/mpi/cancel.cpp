// SPDX-License-Identifier: BSD-3-Clause
// Cancelled operations run their continuation, and MPI_Test_cancelled says so, however they were cancelled.
#include "support.hpp"

namespace {

class cancelled : public mpi_test {
protected:
    int value = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    outcome seen;

    void receive() { MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &request); }
    void expect_cancelled() {
        wait();
        EXPECT_EQ(1, seen.ended());
        EXPECT_EQ(MPI_SUCCESS, seen.error);
        EXPECT_TRUE(seen.cancelled());
        EXPECT_EQ(-1, value);
    }
    // A later message must match another receive than the cancelled one.
    void expect_gone() {
        int other = 0;
        MPI_Request probe = MPI_REQUEST_NULL;
        MPI_Irecv(&other, 1, MPI_INT, rank, 1, comm, &probe);
        const int sent = 5;
        MPI_Send(&sent, 1, MPI_INT, rank, 1, comm);
        MPI_Wait(&probe, MPI_STATUS_IGNORE);
        EXPECT_EQ(5, other);
        EXPECT_EQ(-1, value);
    }
};

TEST_F(cancelled, before_attach) {
    receive();
    MPI_Cancel(&request);
    seen.attach(request, cr);
    expect_cancelled();
    expect_gone();
}
TEST_F(cancelled, by_thence_cancel_on_the_cr) {
    receive();
    seen.attach(request, cr);
    EXPECT_EQ(0, seen.ended());
    EXPECT_EQ(MPI_SUCCESS, thence_cancel(&cr));
    expect_cancelled();
    expect_gone();
}
TEST_F(cancelled, by_mpi_cancel_on_the_cr) {
    receive();
    seen.attach(request, cr);
    EXPECT_EQ(MPI_SUCCESS, MPI_Cancel(&cr));
    EXPECT_EQ(1, thence_is_cr(cr));
    expect_cancelled();
    expect_gone();
}
TEST_F(cancelled, by_mpi_cancel_on_the_persistent_receive) {
    MPI_Recv_init(&value, 1, MPI_INT, rank, 1, comm, &request);
    for (int turn = 0; turn < 3; ++turn) {
        outcome each;
        MPI_Start(&request);
        each.attach(request, cr, THENCE_PERSISTENT);
        EXPECT_EQ(0, each.ended());
        EXPECT_EQ(MPI_SUCCESS, MPI_Cancel(&request));
        wait();
        EXPECT_EQ(1, each.ended());
        EXPECT_TRUE(each.cancelled());
        ASSERT_NE(MPI_REQUEST_NULL, request);
    }
    MPI_Start(&request); // it still receives
    seen.attach(request, cr, THENCE_PERSISTENT);
    MPI_Send(&rank, 1, MPI_INT, rank, 1, comm);
    wait();
    EXPECT_EQ(1, seen.ended());
    EXPECT_FALSE(seen.cancelled());
    EXPECT_EQ(rank, value);
    MPI_Request_free(&request);
}
TEST_F(cancelled, on_the_cr_cancels_a_persistent_receive) {
    MPI_Recv_init(&value, 1, MPI_INT, rank, 1, comm, &request);
    MPI_Start(&request);
    seen.attach(request, cr, THENCE_PERSISTENT);
    EXPECT_EQ(MPI_SUCCESS, MPI_Cancel(&cr));
    expect_cancelled();
    EXPECT_NE(MPI_REQUEST_NULL, request);
    MPI_Request_free(&request);
}
TEST_F(cancelled, in_a_group_only_the_pending_ones) {
    int done = 0;
    MPI_Request both[2] = {};
    MPI_Irecv(&done, 1, MPI_INT, rank, 2, comm, &both[0]);
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &both[1]);
    MPI_Send(&rank, 1, MPI_INT, rank, 2, comm);
    for (int flag = 0; flag == 0;) {
        MPI_Request_get_status(both[0], &flag, MPI_STATUS_IGNORE);
    }
    seen.attach(2, both, cr);
    EXPECT_EQ(0, seen.ended());
    EXPECT_EQ(MPI_SUCCESS, MPI_Cancel(&cr));
    wait();
    EXPECT_EQ(1, seen.calls.load());
    EXPECT_FALSE(seen.cancelled(0));
    EXPECT_EQ(2, seen.statuses[0].MPI_TAG);
    EXPECT_TRUE(seen.cancelled(1));
}
// Three kinds of receives: the first have run before the cancellation, the second have a message under way (MPI may
// cancel or complete these, and must report which), the third have no message.
TEST_F(cancelled, many_each_end_once) {
    constexpr std::size_t n = 200;
    std::vector<outcome> each(n);
    std::vector<int> values(n, -1);
    const auto send = [&](std::size_t i) { MPI_Send(&rank, 1, MPI_INT, rank, static_cast<int>(i), comm); };
    for (std::size_t i = 0; i < n; ++i) {
        MPI_Irecv(&values[i], 1, MPI_INT, rank, static_cast<int>(i), comm, &request);
        each[i].attach(request, cr);
    }
    for (std::size_t i = 0; i < n; i += 3) {
        send(i);
        while (each[i].ended() == 0) {
            thence_progress();
        }
    }
    for (std::size_t i = 1; i < n; i += 3) {
        send(i);
    }
    EXPECT_EQ(MPI_SUCCESS, MPI_Cancel(&cr));
    wait();
    for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(1, each[i].ended());
        EXPECT_EQ(each[i].cancelled() ? -1 : rank, values[i]) << "cancelled and received, or neither";
        if (i % 3 == 0) {
            EXPECT_FALSE(each[i].cancelled()) << "it had completed";
        } else if (i % 3 == 2) {
            EXPECT_TRUE(each[i].cancelled()) << "nothing was sent";
        } else if (each[i].cancelled()) { // its message is still there, and must not meet a later receive
            int late = -1;
            EXPECT_EQ(MPI_SUCCESS, MPI_Recv(&late, 1, MPI_INT, rank, static_cast<int>(i), comm, MPI_STATUS_IGNORE));
            EXPECT_EQ(rank, late);
        }
    }
}
// Collectives and RMA cannot be cancelled: MPI reports an error, which must not end the program.
TEST_F(cancelled, operations_that_cannot_be_complete_as_usual) {
    int sum = 0, got = -1;
    int *shown = nullptr;
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Win_allocate(sizeof *shown, sizeof *shown, MPI_INFO_NULL, comm, &shown, &win);
    *shown = rank;
    MPI_Barrier(comm);
    MPI_Win_lock_all(0, win);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (rank != 0) {
        await(0); // rank 0 has cancelled while its collectives waited for this rank
    }
    MPI_Request all[5];
    MPI_Iallreduce(&size, &sum, 1, MPI_INT, MPI_SUM, comm, &all[0]);
    MPI_Ibarrier(comm, &all[1]);
    MPI_Comm_idup(comm, &copy, &all[2]);
    MPI_Rget(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &all[3]);
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &all[4]);
    seen.attach(5, all, cr);
    EXPECT_EQ(MPI_SUCCESS, thence_cancel(&cr));
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    EXPECT_EQ(MPI_ERRORS_ARE_FATAL, handler);
    for (int other = 1; rank == 0 && other < size; ++other) {
        tell(other);
    }
    wait();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors_return());
    EXPECT_EQ(1, seen.ended());
    EXPECT_EQ(MPI_SUCCESS, seen.error);
    EXPECT_EQ(size * size, sum);
    EXPECT_NE(MPI_COMM_NULL, copy);
    EXPECT_EQ(0, got);
    EXPECT_FALSE(seen.cancelled(0));
    EXPECT_TRUE(seen.cancelled(4));
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Comm_free(&copy);
}
#if defined(THENCE_MPI_PERSISTENT_COLLECTIVES)
TEST_F(cancelled, persistent_collectives_complete_as_usual) {
    int sum = 0;
    MPI_Allreduce_init(&size, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    if (rank != 0) {
        await(0);
    }
    MPI_Start(&request);
    seen.attach(request, cr);
    EXPECT_EQ(MPI_SUCCESS, thence_cancel(&cr));
    for (int other = 1; rank == 0 && other < size; ++other) {
        tell(other);
    }
    wait();
    EXPECT_EQ(1, seen.ended());
    EXPECT_EQ(size * size, sum);
    MPI_Request_free(&request);
}
#endif
TEST_F(cancelled, cr_without_operations) {
    EXPECT_EQ(MPI_SUCCESS, MPI_Cancel(&cr));
    EXPECT_EQ(MPI_SUCCESS, thence_cancel(&cr));
}

} // namespace
