// SPDX-License-Identifier: BSD-3-Clause
// For tests of multiplex communicators: one with streams, and messages of one int on it.
#pragma once

#include "support.hpp"

#include <thence/mpix.h>

#include <vector>

class multiplex_test : public ::testing::Test {
protected:
    multiplex_test() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors_return());
    }
    ~multiplex_test() override {
        if (comm != MPI_COMM_NULL) {
            EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
        }
        for (MPIX_Stream &each : streams) {
            EXPECT_EQ(MPIX_Stream_free(&each), MPI_SUCCESS);
        }
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, before_);
    }
    // A communicator with `count` new streams of this process.
    void create(int count) {
        for (int i = 0; i < count; ++i) {
            MPIX_Stream stream = MPIX_STREAM_NULL;
            ASSERT_EQ(MPIX_Stream_create(MPI_INFO_NULL, &stream), MPI_SUCCESS);
            streams.push_back(stream);
        }
        ASSERT_EQ(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, count, streams.data(), &comm), MPI_SUCCESS);
        MPI_Comm_set_errhandler(comm, errors_return());
    }

    static MPIX_Stream stream_of(MPI_Comm of, int index = 0) {
        MPIX_Stream stream = -1;
        EXPECT_EQ(MPIX_Comm_get_stream(of, index, &stream), MPI_SUCCESS);
        return stream;
    }
    int send(int value, int to, int tag, int mine, int peer) const {
        return MPIX_Stream_send(&value, 1, MPI_INT, to, tag, comm, mine, peer);
    }
    MPI_Request isend(const int &value, int to, int tag, int mine, int peer) const {
        MPI_Request request = MPI_REQUEST_NULL;
        EXPECT_EQ(MPIX_Stream_isend(&value, 1, MPI_INT, to, tag, comm, mine, peer, &request), MPI_SUCCESS);
        return request;
    }
    int recv(int &value, int from, int tag, int peer, int mine, MPI_Status *status = MPI_STATUS_IGNORE) const {
        return MPIX_Stream_recv(&value, 1, MPI_INT, from, tag, comm, peer, mine, status);
    }
    MPI_Request irecv(int &value, int from, int tag, int peer, int mine) const {
        MPI_Request request = MPI_REQUEST_NULL;
        EXPECT_EQ(MPIX_Stream_irecv(&value, 1, MPI_INT, from, tag, comm, peer, mine, &request), MPI_SUCCESS);
        return request;
    }
    // In a test where each process has rank % 3 + 1 streams.
    static int streams_of(int of) { return of % 3 + 1; }
    static int value(int from, int from_index, int to, int to_index) {
        return ((from * 10 + from_index) * 10 + to) * 10 + to_index;
    }

    int rank = 0;
    int size = 1;
    MPI_Comm comm = MPI_COMM_NULL;
    std::vector<MPIX_Stream> streams;

private:
    MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};
