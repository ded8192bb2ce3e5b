// SPDX-License-Identifier: BSD-3-Clause
// Thread communicators: requests that outlive a communicator, an operation that MPI refuses on some ranks, and an
// exchange in which each rank waits for the other.
#include "threadcomm.hpp"

#include <vector>

namespace {

int class_of(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}

// False: this MPI does not check whether a datatype is committed.
bool refuses_to_send(MPI_Datatype type) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    const int code = MPI_Send(nullptr, 0, type, MPI_PROC_NULL, 0, comm);
    MPI_Comm_free(&comm);
    return class_of(code) == MPI_ERR_TYPE;
}

} // namespace

// MPI: what is outstanding when a communicator is freed completes all the same.
TEST(threadcomm_faults, requests_outlive_the_communicator) {
    threads_of t(2);
    constexpr std::size_t many = 50'000;
    t.run([&](int rank, int size) {
        MPI_Comm copy = MPI_COMM_NULL;
        ASSERT_EQ(MPI_Comm_dup(t.comm, &copy), MPI_SUCCESS);
        const int to = (rank + 1) % size;
        const int from = (rank + size - 1) % size;
        const std::vector<int> sent(many, rank);
        std::vector<int> got(many, -1);
        int small = -1;
        MPI_Request all[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        ASSERT_EQ(MPI_Irecv(got.data(), many, MPI_INT, from, 1, copy, &all[0]), MPI_SUCCESS);
        ASSERT_EQ(MPI_Irecv(&small, 1, MPI_INT, from, 2, copy, &all[1]), MPI_SUCCESS);
        MPI_Barrier(t.comm);
        ASSERT_EQ(MPI_Isend(&rank, 1, MPI_INT, to, 2, copy, &all[2]), MPI_SUCCESS);
        ASSERT_EQ(MPI_Isend(sent.data(), many, MPI_INT, to, 1, copy, &all[3]), MPI_SUCCESS);
        ASSERT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);
        ASSERT_EQ(MPI_Waitall(4, all, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(small, from);
        EXPECT_EQ(got, std::vector<int>(many, from));
    });
}

TEST(threadcomm_faults, a_root_is_not_freed_while_requests_are_open) {
    threads_of t(1);
    MPI_Request open = MPI_REQUEST_NULL;
    int got = 0;
    t.run([&](int, int) { ASSERT_EQ(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, t.comm, &open), MPI_SUCCESS); });
    MPI_Comm handle = t.comm;
    EXPECT_EQ(class_of(MPIX_Threadcomm_free(&handle)), MPI_ERR_PENDING);
    EXPECT_EQ(handle, t.comm);
    ASSERT_EQ(MPI_Cancel(&open), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&open, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST(threadcomm_faults, a_root_is_not_freed_while_a_matched_message_is_not_received) {
    threads_of t(1);
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Message of_copy = MPI_MESSAGE_NULL;
    t.run([&](int rank, int) {
        const int sent[2] = {17, 18};
        MPI_Comm copy = MPI_COMM_NULL;
        ASSERT_EQ(MPI_Comm_dup(t.comm, &copy), MPI_SUCCESS);
        ASSERT_EQ(MPI_Send(&sent[0], 1, MPI_INT, rank, 5, t.comm), MPI_SUCCESS);
        ASSERT_EQ(MPI_Mprobe(rank, 5, t.comm, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
        ASSERT_EQ(MPI_Send(&sent[1], 1, MPI_INT, rank, 5, copy), MPI_SUCCESS);
        ASSERT_EQ(MPI_Mprobe(rank, 5, copy, &of_copy, MPI_STATUS_IGNORE), MPI_SUCCESS);
        ASSERT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS); // what is derived stays until the root is freed
    });
    int got = -1;
    for (MPI_Message *each : {&message, &of_copy}) {
        MPI_Comm handle = t.comm;
        EXPECT_EQ(class_of(MPIX_Threadcomm_free(&handle)), MPI_ERR_PENDING);
        EXPECT_EQ(handle, t.comm);
        ASSERT_EQ(MPI_Mrecv(&got, 1, MPI_INT, each, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(got, each == &message ? 17 : 18);
    }
}

// Only the ranks that combine see that MPI refuses the operation; the others are not left behind.
TEST(threadcomm_faults, an_operation_that_does_not_fit_the_datatype_ends_on_all_ranks) {
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return()); // MPI_Reduce_local calls one of these two
    MPI_Comm_set_errhandler(MPI_COMM_SELF, thence_errors_return());
    {
        threads_of t(2);
        t.run([&](int rank, int) {
            double in = rank;
            double out = 0;
            const int code = MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_BAND, t.comm);
            if (rank == 0) {
                EXPECT_EQ(class_of(code), MPI_ERR_OP);
            }
            int sum = 0;
            EXPECT_EQ(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, t.comm), MPI_SUCCESS);
        });
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, before);
    MPI_Errhandler_free(&before);
}

// Between processes MPI moves long messages, and refuses such a type: on either side that is an error, and it leaves
// neither waiting.
TEST(threadcomm_faults, a_datatype_that_is_not_committed_is_an_error_and_nobody_waits) {
    constexpr int many = 20'000;
    const std::vector<int> sent(2 * many, 7);
    std::vector<int> got(2 * many, -1);
    threads_of t(1);
    t.run([&](int rank, int size) {
        MPI_Datatype row = MPI_DATATYPE_NULL;
        MPI_Datatype column = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(many, MPI_INT, &row);
        MPI_Type_vector(many, 1, 2, MPI_INT, &column);
        const int partner = rank ^ 1;
        if (size == 1 || !refuses_to_send(row)) {
            // Within a process Thence moves the data.
        } else if (rank % 2 == 0) {
            EXPECT_EQ(class_of(MPI_Send(sent.data(), 1, row, partner, 1, t.comm)), MPI_ERR_TYPE);
            EXPECT_EQ(class_of(MPI_Ssend(sent.data(), 1, row, partner, 1, t.comm)), MPI_ERR_TYPE);
            MPI_Request request = MPI_REQUEST_NULL;
            EXPECT_EQ(MPI_Isend(sent.data(), 1, row, partner, 1, t.comm, &request), MPI_SUCCESS);
            EXPECT_EQ(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_TYPE);
            EXPECT_EQ(MPI_Send(sent.data(), 1, MPI_INT, partner, 2, t.comm), MPI_SUCCESS);
            EXPECT_EQ(MPI_Send(sent.data(), many, MPI_INT, partner, 3, t.comm), MPI_SUCCESS);
        } else {
            MPI_Status status;
            EXPECT_EQ(MPI_Recv(got.data(), many, MPI_INT, partner, MPI_ANY_TAG, t.comm, &status), MPI_SUCCESS);
            EXPECT_EQ(status.MPI_TAG, 2) << "the first message that MPI took";
            EXPECT_EQ(class_of(MPI_Recv(got.data(), 1, column, partner, 3, t.comm, &status)), MPI_ERR_TYPE);
        }
        MPI_Type_free(&row);
        MPI_Type_free(&column);
    });
}

// While a rank waits until its long message is taken, it takes that of its partner. No other thread of a process does
// that for it.
TEST(threadcomm_faults, partners_in_two_processes_exchange_long_messages) {
    constexpr int many = 20'000;
    for (const int threads : {1, 2}) {
        threads_of t(threads);
        t.run([&](int rank, int size) {
            const int partner = (rank + size / 2) % size;
            const std::vector<int> sent(many, rank);
            std::vector<int> got(many, -1);
            ASSERT_EQ(MPI_Sendrecv(sent.data(), many, MPI_INT, partner, 1, got.data(), many, MPI_INT, partner, 1,
                                   t.comm, MPI_STATUS_IGNORE),
                      MPI_SUCCESS);
            EXPECT_EQ(got, std::vector<int>(many, partner));
            ASSERT_EQ(
                MPI_Sendrecv_replace(got.data(), many, MPI_INT, partner, 2, partner, 2, t.comm, MPI_STATUS_IGNORE),
                MPI_SUCCESS);
            EXPECT_EQ(got, sent);
        });
    }
}
