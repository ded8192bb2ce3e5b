// SPDX-License-Identifier: BSD-3-Clause
// Continuations on every kind of point-to-point operation, small and large, between two ranks: each ends once, with the
// right data and status, whichever side waits.
#include "support.hpp"

#include <thence/mpix_continue.h>

#include <numeric>

namespace {

using isend = int (*)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

class point_to_point : public mpi_test {
protected:
    // Rank 0 posts a receive with a continuation before rank 1 sends: the operation is pending.
    void transfer(isend start, int n) {
        constexpr int tag = 5;
        std::vector<int> data(static_cast<std::size_t>(n), 0);
        outcome seen;
        MPI_Request request = MPI_REQUEST_NULL;
        if (rank == 0) {
            MPI_Irecv(data.data(), n, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
            seen.attach(request, cr);
            EXPECT_EQ(0, seen.at_once);
            EXPECT_EQ(0, seen.calls.load());
            tell(1);
            wait();
            EXPECT_EQ(1, seen.statuses[0].MPI_SOURCE);
            EXPECT_EQ(tag, seen.statuses[0].MPI_TAG);
            EXPECT_EQ(MPI_SUCCESS, seen.statuses[0].MPI_ERROR);
            EXPECT_EQ(n, seen.count());
            for (int i = 0; i < n; ++i) {
                ASSERT_EQ(i, data[static_cast<std::size_t>(i)]);
            }
        } else {
            std::iota(data.begin(), data.end(), 0);
            await(0);
            ASSERT_EQ(MPI_SUCCESS, start(data.data(), n, MPI_INT, 0, tag, comm, &request));
            seen.attach(request, cr);
            wait();
        }
        EXPECT_EQ(MPI_REQUEST_NULL, request);
        EXPECT_EQ(1, seen.ended());
        EXPECT_EQ(MPI_SUCCESS, seen.error);
    }
    static constexpr int small = 4;
    static constexpr int large = 1 << 18; // 1 MiB: rendezvous everywhere
};

TEST_F(point_to_point, standard_send_small) {
    transfer(&MPI_Isend, small);
}
TEST_F(point_to_point, standard_send_large) {
    transfer(&MPI_Isend, large);
}
TEST_F(point_to_point, synchronous_send_small) {
    transfer(&MPI_Issend, small);
}
TEST_F(point_to_point, synchronous_send_large) {
    transfer(&MPI_Issend, large);
}
TEST_F(point_to_point, ready_send_small) {
    transfer(&MPI_Irsend, small);
}
TEST_F(point_to_point, ready_send_large) {
    transfer(&MPI_Irsend, large);
}
TEST_F(point_to_point, buffered_send) {
    std::vector<char> buffer(large * sizeof(int) + MPI_BSEND_OVERHEAD + 1024);
    MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
    transfer(&MPI_Ibsend, small);
    transfer(&MPI_Ibsend, large);
    void *detached = nullptr;
    int bytes = 0;
    MPI_Buffer_detach(static_cast<void *>(&detached), &bytes);
}

TEST_F(point_to_point, take_complete_completes_what_is_complete_and_changes_nothing_else) {
    constexpr int messages = 20;
    int taken = 0;
    const int other = 1 - rank;
    for (int i = 0; i < messages; ++i) {
        int in = -1;
        int flag = -1;
        MPI_Request receive = MPI_REQUEST_NULL;
        MPI_Irecv(&in, 1, MPI_INT, other, 1, comm, &receive);
        const MPI_Request posted = receive;
        EXPECT_EQ(MPI_SUCCESS, thence_take_complete(&receive, &flag, MPI_STATUS_IGNORE));
        EXPECT_EQ(0, flag) << "rank 1 has not sent yet";
        EXPECT_EQ(posted, receive);
        tell(other);
        await(other);
        MPI_Request send = MPI_REQUEST_NULL;
        MPI_Isend(&i, 1, MPI_INT, other, 1, comm, &send);
        EXPECT_EQ(MPI_SUCCESS, thence_take_complete(&send, &flag, MPI_STATUS_IGNORE));
        EXPECT_EQ(flag != 0, send == MPI_REQUEST_NULL);
        taken += flag;
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        int complete = 0; // not released by this call, and then completed
        while (complete == 0) {
            MPI_Request_get_status(receive, &complete, MPI_STATUS_IGNORE);
        }
        MPI_Status status{};
        EXPECT_EQ(MPI_SUCCESS, thence_take_complete(&receive, &flag, &status));
        EXPECT_EQ(1, flag);
        EXPECT_EQ(MPI_REQUEST_NULL, receive);
        EXPECT_EQ(other, status.MPI_SOURCE);
        EXPECT_EQ(1, status.MPI_TAG);
        EXPECT_EQ(i, in);
    }
    EXPECT_GT(taken, 0) << "short sends end in their call on every MPI of the matrix";
    int flag = 1;
    EXPECT_EQ(MPI_SUCCESS, thence_take_complete(&cr, &flag, MPI_STATUS_IGNORE));
    EXPECT_EQ(0, flag) << "a continuation request";
}

TEST_F(point_to_point, send_whose_receive_is_not_posted_waits) {
    std::vector<int> data(large, rank);
    MPI_Request request = MPI_REQUEST_NULL;
    outcome seen;
    if (rank == 1) {
        MPI_Issend(data.data(), large, MPI_INT, 0, 1, comm, &request);
        seen.attach(request, cr);
        EXPECT_EQ(0, seen.ended());
        tell(0);
        wait();
        EXPECT_EQ(1, seen.calls.load());
    } else {
        await(1);
        MPI_Recv(data.data(), large, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE);
        EXPECT_EQ(1, data[large - 1]);
    }
}

TEST_F(point_to_point, matched_receive) {
    int value = 41 + rank;
    MPI_Request request = MPI_REQUEST_NULL;
    outcome seen;
    if (rank == 0) {
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Mprobe(1, 9, comm, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(&value, 1, MPI_INT, &message, &request);
    } else {
        MPI_Isend(&value, 1, MPI_INT, 0, 9, comm, &request);
    }
    seen.attach(request, cr);
    wait();
    EXPECT_EQ(1, seen.ended());
    EXPECT_EQ(42, value);
}

TEST_F(point_to_point, strided_datatype) {
    constexpr int n = 1000;
    MPI_Datatype column = MPI_DATATYPE_NULL;
    MPI_Type_vector(n, 1, 3, MPI_INT, &column);
    MPI_Type_commit(&column);
    std::vector<int> matrix(3 * n, -1);
    MPI_Request request = MPI_REQUEST_NULL;
    outcome seen;
    if (rank == 0) {
        MPI_Irecv(matrix.data() + 1, 1, column, 1, 2, comm, &request);
        seen.attach(request, cr);
        tell(1);
    } else {
        await(0);
        std::iota(matrix.begin(), matrix.end(), 0);
        MPI_Isend(matrix.data() + 2, 1, column, 0, 2, comm, &request);
        seen.attach(request, cr);
    }
    wait();
    EXPECT_EQ(1, seen.ended());
    if (rank == 0) {
        EXPECT_EQ(1, seen.count(0, column));
        for (int i = 0; i < n; ++i) {
            ASSERT_EQ(-1, matrix[static_cast<std::size_t>(3 * i)]);
            ASSERT_EQ(3 * i + 2, matrix[static_cast<std::size_t>(3 * i + 1)]);
        }
    }
    MPI_Type_free(&column);
}

TEST_F(point_to_point, process_null_and_message_of_nothing) {
    MPI_Request requests[3] = {};
    MPI_Status plain; // some MPIs set another source than the standard's
    MPI_Irecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 3, comm, &requests[0]);
    MPI_Wait(&requests[0], &plain);
    outcome seen;
    MPI_Irecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 3, comm, &requests[0]);
    MPI_Isend(nullptr, 0, MPI_INT, 1 - rank, 4, comm, &requests[1]);
    MPI_Irecv(nullptr, 0, MPI_INT, 1 - rank, 4, comm, &requests[2]);
    seen.attach(3, requests, cr);
    wait();
    EXPECT_EQ(1, seen.ended());
    EXPECT_EQ(plain.MPI_SOURCE, seen.statuses[0].MPI_SOURCE);
    EXPECT_EQ(1 - rank, seen.statuses[2].MPI_SOURCE);
    EXPECT_EQ(0, seen.count(2));
}

TEST_F(point_to_point, chain_of_callbacks_that_each_start_the_next) {
    struct chain {
        MPI_Comm comm;
        MPI_Request cr;
        int peer, rounds = 0, value = 0, code = MPI_SUCCESS;
        static void turn(MPI_Status *, void *data) {
            auto &self = *static_cast<chain *>(data);
            for (int flag = 1; flag != 0 && self.rounds < 200;) {
                ++self.rounds;
                MPI_Send(&self.rounds, 1, MPI_INT, self.peer, 6, self.comm);
                MPI_Request request = MPI_REQUEST_NULL;
                MPI_Irecv(&self.value, 1, MPI_INT, self.peer, 6, self.comm, &request);
                self.code |= MPIX_Continue(&request, &flag, &turn, data, MPI_STATUS_IGNORE, self.cr);
            }
        }
    } self{comm, cr, 1 - rank};
    chain::turn(MPI_STATUS_IGNORE, &self);
    wait();
    EXPECT_EQ(200, self.rounds);
    EXPECT_EQ(200, self.value);
    EXPECT_EQ(MPI_SUCCESS, self.code);
}

TEST_F(point_to_point, thousand_receives_at_once) {
    constexpr int n = 1000;
    static int values[n];
    static MPI_Status statuses[n];
    static std::atomic<int> calls;
    calls = 0;
    int at_once = 0;
    if (rank == 0) {
        for (int i = 0; i < n; ++i) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&values[i], 1, MPI_INT, 1, i, comm, &request);
            int flag = 0;
            MPIX_Continue(
                &request, &flag, [](MPI_Status *, void *) { ++calls; }, nullptr, &statuses[i], cr);
            at_once += flag;
        }
        tell(1);
        wait();
        EXPECT_EQ(n, calls + at_once);
        for (int i = 0; i < n; ++i) {
            ASSERT_EQ(3 * i, values[i]);
            ASSERT_EQ(i, statuses[i].MPI_TAG);
        }
    } else {
        await(0);
        for (int i = n - 1; i >= 0; --i) {
            const int value = 3 * i;
            MPI_Send(&value, 1, MPI_INT, 0, i, comm);
        }
    }
}

} // namespace
