// SPDX-License-Identifier: BSD-3-Clause
// Faults known from another implementation of MPI Continuations, one test each, named after the fault. Two ranks.
#include "support.hpp"

#include <thence/mpix_continue.h>

namespace {

class fault : public mpi_test {};

TEST_F(fault, failed_operation_hangs_or_crashes) {
    int room[2] = {};
    const int data[4] = {1, 2, 3, 4};
    if (rank == 0) {
        MPI_Request request = MPI_REQUEST_NULL;
        outcome seen;
        MPI_Irecv(room, 2, MPI_INT, 1, 1, comm, &request);
        seen.attach(request, cr);
        tell(1);
        EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&cr, MPI_STATUS_IGNORE));
        EXPECT_EQ(1, seen.calls.load());
        EXPECT_EQ(MPI_ERR_TRUNCATE, class_of(seen.statuses[0].MPI_ERROR));
    } else {
        await(0);
        MPI_Send(data, 4, MPI_INT, 0, 1, comm);
    }
}

TEST_F(fault, get_failed_is_not_in_the_library) {
    MPI_Request keeping = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_SUCCESS, thence_cr_create(THENCE_CR_REPORT_FAILED, -1, MPI_INFO_NULL, &keeping));
    int value = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    outcome seen;
    seen.result = MPI_ERR_OTHER;
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &request);
    seen.attach(request, keeping);
    MPI_Send(&rank, 1, MPI_INT, rank, 1, comm);
    EXPECT_NE(MPI_SUCCESS, MPI_Wait(&keeping, MPI_STATUS_IGNORE));
    void *failed = nullptr;
    int count = 1;
    EXPECT_EQ(MPI_SUCCESS, thence_get_failed(keeping, &count, &failed));
    EXPECT_EQ(1, count);
    EXPECT_EQ(static_cast<void *>(&seen), failed);
    MPI_Request_free(&keeping);
}

TEST_F(fault, error_returned_by_a_callback_frees_the_cr) {
    int values[2] = {};
    MPI_Request requests[2];
    outcome bad, good;
    bad.result = MPI_ERR_OTHER;
    MPI_Irecv(&values[0], 1, MPI_INT, rank, 1, comm, &requests[0]);
    MPI_Irecv(&values[1], 1, MPI_INT, rank, 2, comm, &requests[1]);
    bad.attach(requests[0], cr);
    good.attach(requests[1], cr);
    MPI_Send(&rank, 1, MPI_INT, rank, 1, comm);
    while (bad.calls.load() == 0) {
        thence_progress();
    }
    EXPECT_EQ(1, thence_is_cr(cr));
    MPI_Send(&rank, 1, MPI_INT, rank, 2, comm);
    EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&cr, MPI_STATUS_IGNORE));
    EXPECT_EQ(1, good.calls.load());
}

TEST_F(fault, persistent_rendezvous_send_restarted_and_continued_spins_for_ever) {
    constexpr int n = 1 << 20;
    std::vector<char> data(n);
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) {
        MPI_Send_init(data.data(), n, MPI_CHAR, 1, 1, comm, &request);
    }
    for (int turn = 1; turn <= 10; ++turn) {
        if (rank == 0) {
            std::fill(data.begin(), data.end(), static_cast<char>(turn));
            MPI_Start(&request);
            int flag = 0;
            int calls = 0;
            MPIX_Continue(
                &request, &flag, [](MPI_Status *, void *d) { ++*static_cast<int *>(d); }, &calls, MPI_STATUS_IGNORE,
                cr);
            MPI_Wait(&cr, MPI_STATUS_IGNORE);
            ASSERT_EQ(1, calls + flag);
        } else {
            MPI_Recv(data.data(), n, MPI_CHAR, 0, 1, comm, MPI_STATUS_IGNORE);
            ASSERT_EQ(static_cast<char>(turn), data[n - 1]);
        }
    }
    if (rank == 0) {
        MPI_Request_free(&request);
    }
}

TEST_F(fault, ibcast_with_a_derived_datatype_is_corrupted) {
    constexpr int n = 30000;
    MPI_Datatype strided = MPI_DATATYPE_NULL;
    MPI_Type_vector(n, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    std::vector<int> data(2 * n);
    for (int turn = 1; turn <= 10; ++turn) {
        std::fill(data.begin(), data.end(), rank == 0 ? turn : -turn);
        MPI_Request requests[2];
        outcome seen;
        MPI_Ibcast(data.data(), 1, strided, 0, comm, &requests[0]);
        MPI_Ibarrier(comm, &requests[1]);
        seen.attach(2, requests, cr);
        EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&cr, MPI_STATUS_IGNORE));
        ASSERT_EQ(1, seen.ended());
        for (int i = 0; i < n; ++i) {
            ASSERT_EQ(turn, data[static_cast<std::size_t>(2 * i)]);
            ASSERT_EQ(rank == 0 ? turn : -turn, data[static_cast<std::size_t>(2 * i + 1)]);
        }
    }
    MPI_Type_free(&strided);
}

TEST_F(fault, waitany_over_several_poll_only_crs_crashes) {
    constexpr int n = 3;
    MPI_Request crs[n];
    outcome seen[n];
    int values[n];
    for (int i = 0; i < n; ++i) {
        MPI_Request request = MPI_REQUEST_NULL;
        ASSERT_EQ(MPI_SUCCESS, thence_cr_create(THENCE_CR_POLL_ONLY, -1, MPI_INFO_NULL, &crs[i]));
        MPI_Irecv(&values[i], 1, MPI_INT, 1 - rank, i, comm, &request);
        seen[i].attach(request, crs[i]);
    }
    MPI_Barrier(comm);
    for (int i = n - 1; i >= 0; --i) {
        MPI_Send(&i, 1, MPI_INT, 1 - rank, i, comm);
    }
    for (int left = n; left > 0; --left) {
        int index = 99;
        ASSERT_EQ(MPI_SUCCESS, MPI_Waitany(n, crs, &index, MPI_STATUS_IGNORE));
        ASSERT_TRUE(index >= 0 && index < n);
        EXPECT_EQ(1, seen[index].ended());
        EXPECT_EQ(index, values[index]);
        MPI_Request_free(&crs[index]);
    }
    int index = 0;
    MPI_Waitany(n, crs, &index, MPI_STATUS_IGNORE);
    EXPECT_EQ(MPI_UNDEFINED, index);
}

// The continuation of the CR that the callback waits for can only run after the callback. The wait must end.
TEST_F(fault, callback_that_loops_on_another_cr_never_ends) {
    struct looping {
        MPI_Request other = MPI_REQUEST_NULL;
        int code = MPI_SUCCESS;
        bool ended = false;
        static int callback(int, MPI_Status *, void *data) {
            auto &self = *static_cast<looping *>(data);
            self.code = thence_wait(&self.other, MPI_STATUS_IGNORE);
            self.ended = true;
            return MPI_SUCCESS;
        }
    } self;
    int values[2] = {};
    MPI_Request requests[2];
    outcome inner;
    int flag = 1;
    ASSERT_EQ(MPI_SUCCESS, thence_cr_create(0, -1, MPI_INFO_NULL, &self.other));
    MPI_Irecv(&values[0], 1, MPI_INT, rank, 1, comm, &requests[0]);
    MPI_Irecv(&values[1], 1, MPI_INT, rank, 2, comm, &requests[1]);
    inner.attach(requests[1], self.other);
    thence_attach(1, &requests[0], &looping::callback, &self, 0, MPI_STATUS_IGNORE, cr, &flag);
    ASSERT_EQ(0, flag);
    // Both messages have been sent before a call that may run the looping callback.
    MPI_Request sends[2];
    MPI_Isend(&rank, 1, MPI_INT, rank, 1, comm, &sends[0]);
    MPI_Isend(&rank, 1, MPI_INT, rank, 2, comm, &sends[1]);
    wait();
    EXPECT_TRUE(self.ended);
    EXPECT_TRUE(self.code == MPI_SUCCESS || class_of(self.code) == MPI_ERR_PENDING);
    EXPECT_EQ(MPI_SUCCESS, thence_wait(&self.other, MPI_STATUS_IGNORE));
    EXPECT_EQ(1, inner.calls.load());
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    MPI_Request_free(&self.other);
}

TEST_F(fault, invalid_info_values_are_accepted) {
    for (const char *key : {"mpi_continue_poll_only", "mpi_continue_max_poll", "mpi_continue_thread",
                            "mpi_continue_enqueue_complete", "mpi_continue_async_signal_safe"}) {
        MPI_Info info = MPI_INFO_NULL;
        MPI_Info_create(&info);
        MPI_Info_set(info, key, "bogus");
        MPI_Request made = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_ERR_INFO_VALUE, class_of(MPIX_Continue_init(&made, info))) << key;
        EXPECT_EQ(MPI_REQUEST_NULL, made);
        MPI_Info_free(&info);
    }
}

TEST_F(fault, one_continuation_at_most_per_progress_call) {
    constexpr int n = 20;
    int values[n];
    outcome seen[n];
    MPI_Request poll_only = MPI_REQUEST_NULL;
    thence_cr_create(THENCE_CR_POLL_ONLY, -1, MPI_INFO_NULL, &poll_only);
    for (int i = 0; i < n; ++i) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&values[i], 1, MPI_INT, rank, i, comm, &request);
        seen[i].attach(request, poll_only);
    }
    for (int i = 0; i < n; ++i) {
        MPI_Send(&i, 1, MPI_INT, rank, i, comm);
    }
    for (int i = 0; i < 100; ++i) { // let everything become ready
        thence_progress();
    }
    int flag = 0;
    MPI_Test(&poll_only, &flag, MPI_STATUS_IGNORE);
    EXPECT_EQ(1, flag) << "one test runs all that is ready";
    MPI_Request_free(&poll_only);
}

} // namespace
