// SPDX-License-Identifier: BSD-3-Clause
// While a blocking call or a loop of tests waits for one request, the continuations of others run, on every MPI, also
// on those without a hook. In each test a continuation sends the message that the call waits for.
#include "support.hpp"

namespace {

class blocked : public mpi_test {
protected:
    MPI_Request receive(int &value, int tag) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&value, 1, MPI_INT, rank, tag, comm, &request);
        return request;
    }
    static constexpr int trigger = 1;
    static constexpr int release = 2;
    struct sender {
        MPI_Comm comm;
        int rank;
        int value = 7;
        MPI_Request sent = MPI_REQUEST_NULL;
        // Not MPI_Send: a send to this rank itself may wait for its receive, which the call below on the stack may post
        // later.
        static int callback(int, MPI_Status *, void *data) {
            auto &self = *static_cast<sender *>(data);
            return MPI_Isend(&self.value, 1, MPI_INT, self.rank, release, self.comm, &self.sent);
        }
    } sending{};
    int triggered = 0;
    int released = 0;
    std::thread later;

    void SetUp() override {
        mpi_test::SetUp();
        sending = {comm, rank};
        MPI_Request request = receive(triggered, trigger);
        int flag = 1;
        thence_attach(1, &request, &sender::callback, &sending, 0, MPI_STATUS_IGNORE, cr, &flag);
        ASSERT_EQ(0, flag);
    }
    void trigger_later() {
        later = std::thread([this] {
            sleep_ms(30);
            MPI_Send(&rank, 1, MPI_INT, rank, trigger, comm);
        });
    }
    void TearDown() override {
        later.join();
        EXPECT_EQ(7, released);
        wait();
        MPI_Wait(&sending.sent, MPI_STATUS_IGNORE);
        mpi_test::TearDown();
    }
};

TEST_F(blocked, in_wait_runs_continuations_of_others) {
    MPI_Request request = receive(released, release);
    trigger_later();
    EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&request, MPI_STATUS_IGNORE));
}
TEST_F(blocked, in_recv_runs_continuations_of_others) {
    trigger_later();
    EXPECT_EQ(MPI_SUCCESS, MPI_Recv(&released, 1, MPI_INT, rank, release, comm, MPI_STATUS_IGNORE));
}
TEST_F(blocked, in_waitall_runs_continuations_of_others) {
    MPI_Request requests[2] = {receive(released, release), MPI_REQUEST_NULL};
    trigger_later();
    EXPECT_EQ(MPI_SUCCESS, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}
TEST_F(blocked, in_waitany_runs_continuations_of_others) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, receive(released, release)};
    int index = 0;
    trigger_later();
    EXPECT_EQ(MPI_SUCCESS, MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
    EXPECT_EQ(1, index);
}
TEST_F(blocked, in_probe_runs_continuations_of_others) {
    trigger_later();
    EXPECT_EQ(MPI_SUCCESS, MPI_Probe(rank, release, comm, MPI_STATUS_IGNORE));
    MPI_Recv(&released, 1, MPI_INT, rank, release, comm, MPI_STATUS_IGNORE);
}
TEST_F(blocked, in_sendrecv_runs_continuations_of_others) {
    int unused = 0;
    MPI_Request request = receive(unused, 50); // posted first, as a send to oneself may wait for it
    trigger_later();
    EXPECT_EQ(MPI_SUCCESS,
              MPI_Sendrecv(&rank, 1, MPI_INT, rank, 50, &released, 1, MPI_INT, rank, release, comm, MPI_STATUS_IGNORE));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
TEST_F(blocked, in_wait_of_another_cr_runs_continuations_of_others) {
    MPI_Request other = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_SUCCESS, thence_cr_create(0, -1, MPI_INFO_NULL, &other));
    MPI_Request request = receive(released, release);
    outcome seen;
    seen.attach(request, other);
    trigger_later();
    EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&other, MPI_STATUS_IGNORE));
    EXPECT_EQ(1, seen.calls.load());
    MPI_Request_free(&other);
}
TEST_F(blocked, in_a_test_loop_runs_continuations_of_others) {
    MPI_Request request = receive(released, release);
    trigger_later();
    for (int flag = 0; flag == 0;) {
        ASSERT_EQ(MPI_SUCCESS, MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    }
}

} // namespace
