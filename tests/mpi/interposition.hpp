// SPDX-License-Identifier: BSD-3-Clause
// The fixture of the tests of MPI's own calls on continuation requests, on one rank or more. Messages go to the rank
// itself.
#pragma once

#include "support.hpp"

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
