// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments of the calls on multiplex communicators: each is an error, and nothing has happened.
#include "multiplex.hpp"

#include <climits>

namespace {

class multiplex_faults : public multiplex_test {
protected:
    int create_with(int count, const MPIX_Stream *array, MPI_Comm of = MPI_COMM_WORLD) {
        MPI_Comm made = MPI_COMM_NULL;
        const int code = MPIX_Stream_comm_create_multiplex(of, count, const_cast<MPIX_Stream *>(array), &made);
        EXPECT_EQ(made, MPI_COMM_NULL);
        return class_of(code);
    }
    // The class of the error that all four calls that send, or receive, give.
    int sends(int count, MPI_Datatype type, int dest, int tag, int mine, int peer) const {
        int data = 1;
        MPI_Request request = MPI_REQUEST_NULL;
        const int error = class_of(MPIX_Stream_send(&data, count, type, dest, tag, comm, mine, peer));
        EXPECT_EQ(class_of(MPIX_Stream_send_c(&data, count, type, dest, tag, comm, mine, peer)), error);
        EXPECT_EQ(class_of(MPIX_Stream_isend(&data, count, type, dest, tag, comm, mine, peer, &request)), error);
        EXPECT_EQ(class_of(MPIX_Stream_isend_c(&data, count, type, dest, tag, comm, mine, peer, &request)), error);
        EXPECT_EQ(request, MPI_REQUEST_NULL);
        return error;
    }
    int receives(int count, MPI_Datatype type, int source, int tag, int peer, int mine) const {
        int data = 1;
        MPI_Status status;
        MPI_Request request = MPI_REQUEST_NULL;
        const int error = class_of(MPIX_Stream_recv(&data, count, type, source, tag, comm, peer, mine, &status));
        EXPECT_EQ(class_of(MPIX_Stream_recv_c(&data, count, type, source, tag, comm, peer, mine, &status)), error);
        EXPECT_EQ(class_of(MPIX_Stream_irecv(&data, count, type, source, tag, comm, peer, mine, &request)), error);
        EXPECT_EQ(class_of(MPIX_Stream_irecv_c(&data, count, type, source, tag, comm, peer, mine, &request)), error);
        EXPECT_EQ(request, MPI_REQUEST_NULL);
        return error;
    }
};

TEST_F(multiplex_faults, of_the_creation) {
    const MPIX_Stream null_stream = MPIX_STREAM_NULL;
    EXPECT_EQ(create_with(1, &null_stream, MPI_COMM_NULL), MPI_ERR_COMM);
    EXPECT_EQ(class_of(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, 1, const_cast<MPIX_Stream *>(&null_stream),
                                                         nullptr)),
              MPI_ERR_ARG);
    // What is wrong in the last process is the error of all, and they can go on.
    const bool wrong = rank == size - 1;
    const MPIX_Stream no_stream = wrong ? 12345 : MPIX_STREAM_NULL;
    EXPECT_EQ(create_with(wrong ? -1 : 1, &null_stream), MPI_ERR_ARG);
    EXPECT_EQ(create_with(1, wrong ? nullptr : &null_stream), MPI_ERR_ARG);
    EXPECT_EQ(create_with(1, &no_stream), MPI_ERR_ARG);
    MPI_Comm threads = MPI_COMM_NULL;
    ASSERT_EQ(MPIX_Threadcomm_init(MPI_COMM_WORLD, 1, &threads), MPI_SUCCESS);
    MPI_Comm_set_errhandler(threads, errors_return());
    EXPECT_EQ(create_with(1, &null_stream, threads), MPI_ERR_COMM);
    MPIX_Threadcomm_free(&threads);
    create(1);
    int got = -1;
    MPI_Request request = irecv(got, (rank + size - 1) % size, 0, 0, 0);
    EXPECT_EQ(send(1, (rank + 1) % size, 0, 0, 0), MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(got, 1);
}

TEST_F(multiplex_faults, of_a_send) {
    create(2);
    EXPECT_EQ(sends(1, MPI_INT, size, 0, 0, 0), MPI_ERR_RANK);
    EXPECT_EQ(sends(1, MPI_INT, MPI_ANY_SOURCE, 0, 0, 0), MPI_ERR_RANK);
    EXPECT_EQ(sends(1, MPI_INT, 0, -1, 0, 0), MPI_ERR_TAG);
    EXPECT_EQ(sends(1, MPI_INT, 0, MPI_ANY_TAG, 0, 0), MPI_ERR_TAG);
    EXPECT_EQ(sends(-1, MPI_INT, 0, 0, 0, 0), MPI_ERR_COUNT);
    EXPECT_EQ(sends(1, MPI_DATATYPE_NULL, 0, 0, 0, 0), MPI_ERR_TYPE);
    for (const int index : {-1, 2, INT_MAX, INT_MIN}) {
        EXPECT_EQ(sends(1, MPI_INT, 0, 0, index, 0), MPI_ERR_ARG) << index;
        EXPECT_EQ(sends(1, MPI_INT, 0, 0, 0, index), MPI_ERR_ARG) << index;
    }
    int data = 0;
    EXPECT_EQ(class_of(MPIX_Stream_isend(&data, 1, MPI_INT, 0, 0, comm, 0, 0, nullptr)), MPI_ERR_ARG);
}

TEST_F(multiplex_faults, of_a_receive) {
    create(2);
    EXPECT_EQ(receives(1, MPI_INT, size, 0, 0, 0), MPI_ERR_RANK);
    EXPECT_EQ(receives(1, MPI_INT, 0, INT_MIN, 0, 0), MPI_ERR_TAG);
    EXPECT_EQ(receives(-1, MPI_INT, 0, 0, 0, 0), MPI_ERR_COUNT);
    EXPECT_EQ(receives(1, MPI_DATATYPE_NULL, 0, 0, 0, 0), MPI_ERR_TYPE);
    for (const int index : {-2, 2, INT_MAX, INT_MIN}) {
        EXPECT_EQ(receives(1, MPI_INT, 0, 0, index, 0), MPI_ERR_ARG) << index;
        EXPECT_EQ(receives(1, MPI_INT, MPI_ANY_SOURCE, 0, index, 0), MPI_ERR_ARG) << index;
    }
    EXPECT_EQ(receives(1, MPI_INT, 0, 0, 0, -1), MPI_ERR_ARG) << "a receive is for one stream";
    EXPECT_EQ(receives(1, MPI_INT, 0, 0, 0, 2), MPI_ERR_ARG);
    int data = 0;
    EXPECT_EQ(class_of(MPIX_Stream_irecv(&data, 1, MPI_INT, 0, 0, comm, 0, 0, nullptr)), MPI_ERR_ARG);
}

// Processes may differ in their streams, so an index that this process has may be none of the other.
TEST_F(multiplex_faults, of_an_index_that_only_the_other_process_has) {
    create(rank + 1);
    EXPECT_EQ(sends(1, MPI_INT, 0, 0, 0, 1), MPI_ERR_ARG);
    EXPECT_EQ(receives(1, MPI_INT, 0, 0, 1, 0), MPI_ERR_ARG);
}

TEST_F(multiplex_faults, on_other_communicators) {
    EXPECT_EQ(sends(1, MPI_INT, 0, 0, 0, 0), MPI_ERR_OTHER) << "MPI_COMM_NULL";
    EXPECT_EQ(receives(1, MPI_INT, 0, 0, 0, 0), MPI_ERR_OTHER);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    EXPECT_EQ(sends(1, MPI_INT, 0, 0, 0, 0), MPI_ERR_OTHER);
    EXPECT_EQ(receives(1, MPI_INT, 0, 0, 0, 0), MPI_ERR_OTHER);
    MPI_Comm_free(&comm);
    MPIX_Stream stream = MPIX_STREAM_NULL;
    MPIX_Stream_create(MPI_INFO_NULL, &stream);
    MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm);
    EXPECT_EQ(sends(1, MPI_INT, 0, 0, 0, 0), MPI_ERR_OTHER) << "it has a single stream";
    EXPECT_EQ(receives(1, MPI_INT, 0, 0, 0, 0), MPI_ERR_OTHER);
    MPI_Comm_free(&comm);
    EXPECT_EQ(MPIX_Stream_free(&stream), MPI_SUCCESS);
}

TEST_F(multiplex_faults, operations_cannot_be_enqueued) {
    create(1);
    int data = 0;
    EXPECT_EQ(class_of(MPIX_Send_enqueue(&data, 1, MPI_INT, 0, 0, comm)), MPI_ERR_OTHER);
}

// The process ends with a communicator that was not freed: MPI_Finalize does not hang.
TEST_F(multiplex_faults, a_communicator_that_is_never_freed) {
    MPI_Comm kept = MPI_COMM_NULL;
    ASSERT_EQ(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, 0, nullptr, &kept), MPI_SUCCESS);
    int got = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPIX_Stream_irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, kept, 0, 0, &request);
    MPIX_Stream_send(&rank, 1, MPI_INT, (rank + 1) % size, 0, kept, 0, 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(got, (rank + size - 1) % size);
}

} // namespace
