// SPDX-License-Identifier: BSD-3-Clause
// The library without interposition: thence_test, thence_wait, thence_free and thence_start are all a program needs,
// and MPI's own calls are MPI's own.
#include "is_interposed.hpp"
#include "support.hpp"

#include <string>

namespace {

class core : public mpi_test {
protected:
    int value = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    outcome seen;
    void receive() {
        MPI_Irecv(&value, 1, MPI_INT, (rank + size - 1) % size, 1, comm, &request);
        seen.attach(request, cr);
        EXPECT_EQ(MPI_REQUEST_NULL, request);
    }
    void send() { MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 1, comm); }
};

TEST_F(core, interposes_nothing) {
    EXPECT_FALSE(is_interposed(&MPI_Wait, &PMPI_Wait));
}
TEST_F(core, wait) {
    MPI_Status status;
    receive();
    send();
    EXPECT_EQ(MPI_SUCCESS, thence_wait(&cr, &status));
    EXPECT_EQ(MPI_ANY_SOURCE, status.MPI_SOURCE);
    EXPECT_EQ(1, seen.ended());
    EXPECT_EQ((rank + size - 1) % size, value);
}
TEST_F(core, test) {
    receive();
    send();
    for (int flag = 0; flag == 0;) {
        ASSERT_EQ(MPI_SUCCESS, thence_test(&cr, &flag, MPI_STATUS_IGNORE));
    }
    EXPECT_EQ(1, seen.ended());
}
TEST_F(core, start) {
    MPI_Request started = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_SUCCESS, thence_cr_create(THENCE_CR_NEEDS_START, -1, MPI_INFO_NULL, &started));
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &request);
    seen.attach(request, started);
    MPI_Send(&rank, 1, MPI_INT, rank, 1, comm);
    for (int i = 0; i < 20; ++i) {
        thence_progress();
    }
    EXPECT_EQ(0, seen.ended());
    EXPECT_EQ(MPI_SUCCESS, thence_start(&started));
    EXPECT_EQ(MPI_SUCCESS, thence_wait(&started, MPI_STATUS_IGNORE));
    EXPECT_EQ(1, seen.calls.load());
    EXPECT_EQ(MPI_SUCCESS, thence_free(&started));
}
TEST_F(core, free_before_completion) {
    MPI_Request freed = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_SUCCESS, thence_cr_create(0, -1, MPI_INFO_NULL, &freed));
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &request);
    seen.attach(request, freed);
    EXPECT_EQ(MPI_SUCCESS, thence_free(&freed));
    EXPECT_EQ(MPI_REQUEST_NULL, freed);
    MPI_Send(&rank, 1, MPI_INT, rank, 1, comm);
    while (seen.calls.load() == 0) {
        thence_progress();
    }
}
TEST_F(core, cancel) {
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &request);
    seen.attach(request, cr);
    EXPECT_EQ(MPI_SUCCESS, thence_cancel(&cr));
    wait();
    EXPECT_EQ(1, seen.ended());
    EXPECT_TRUE(seen.cancelled());
}
TEST_F(core, persistent_with_the_flag) {
    MPI_Recv_init(&value, 1, MPI_INT, rank, 1, comm, &request);
    for (int turn = 0; turn < 5; ++turn) {
        outcome each;
        MPI_Start(&request);
        each.attach(request, cr, THENCE_PERSISTENT);
        ASSERT_NE(MPI_REQUEST_NULL, request);
        MPI_Send(&turn, 1, MPI_INT, rank, 1, comm);
        wait();
        EXPECT_EQ(1, each.ended());
        EXPECT_EQ(turn, value);
    }
    MPI_Request_free(&request);
}
TEST_F(core, group_with_a_collective) {
    MPI_Request requests[2];
    MPI_Irecv(&value, 1, MPI_INT, (rank + size - 1) % size, 1, comm, &requests[0]);
    MPI_Ibarrier(comm, &requests[1]);
    seen.attach(2, requests, cr);
    send();
    wait();
    EXPECT_EQ(1, seen.ended());
    EXPECT_EQ((rank + size - 1) % size, value);
}
// Either the helper thread runs, so that this thread need not call MPI, or the flag is refused.
TEST_F(core, any_thread_runs_callbacks_or_is_refused) {
    MPI_Request any = MPI_REQUEST_NULL;
    const int code = thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &any);
#if defined(OPEN_MPI)
    ASSERT_EQ(MPI_SUCCESS, code);
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &request);
    seen.attach(request, any);
    MPI_Send(&rank, 1, MPI_INT, rank, 1, comm);
    while (seen.ended() == 0) {
        sleep_ms(1);
    }
    EXPECT_EQ(MPI_SUCCESS, thence_wait(&any, MPI_STATUS_IGNORE));
    EXPECT_EQ(MPI_SUCCESS, thence_free(&any));
#else
    EXPECT_EQ(MPI_ERR_UNSUPPORTED_OPERATION, class_of(code));
    EXPECT_EQ(MPI_REQUEST_NULL, any);
    thence_info info{};
    EXPECT_EQ(MPI_SUCCESS, thence_query(&info, sizeof info));
    EXPECT_EQ(0, info.any_thread);
    EXPECT_NE(std::string::npos, std::string(info.helper).find("-lthence")) << info.helper;
#endif
}

} // namespace
