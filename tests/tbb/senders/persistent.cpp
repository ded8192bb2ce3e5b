// SPDX-License-Identifier: BSD-3-Clause
// Persistent requests as senders that can be started again.
#include "support.hpp"

namespace {

using namespace sender_tests;

class persistent : public senders {
protected:
    void SetUp() override {
        senders::SetUp();
        MPI_Recv_init(nullptr, 0, MPI_CHAR, 0, 0, MPI_COMM_SELF, &request);
    }
    void TearDown() override {
        EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
        senders::TearDown();
    }
    MPI_Request request = MPI_REQUEST_NULL;
};

TEST_P(persistent, can_be_started_again_after_each_completion) {
    const auto sender = thence::start_mpi(request);
    for (int i = 0; i < 3; ++i) {
        ending end;
        auto operation = ex::connect(sender, receiver{&end});
        ex::start(operation);
        EXPECT_NE(request, MPI_REQUEST_NULL);
        let_run();
        EXPECT_EQ(end.all(), 0);
        world.complete(request);
        EXPECT_TRUE(eventually([&] { return end.values == 1; }));
    }
}

TEST_P(persistent, sends_its_status) {
    ending end;
    int source = -1;
    auto operation = ex::connect(thence::start_mpi(request, thence::with_status) |
                                     ex::then([&](MPI_Status status) { source = status.MPI_SOURCE; }),
                                 receiver{&end});
    ex::start(operation);
    world.complete(request, {9});
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
    EXPECT_EQ(source, 9);
}

TEST_P(persistent, is_cancelled_by_a_stop_request) {
    ending end;
    ex::inplace_stop_source stop;
    auto operation = ex::connect(thence::start_mpi(request), receiver{&end, stop.get_token()});
    ex::start(operation);
    stop.request_stop();
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.stops, 1);
}

TEST_P(persistent, its_status_says_that_its_owner_has_cancelled_it) {
    ending end;
    bool cancelled = false;
    auto operation =
        ex::connect(thence::start_mpi(request, thence::with_status) |
                        ex::then([&](const MPI_Status &status) { cancelled = world.is_cancelled(status); }),
                    receiver{&end});
    ex::start(operation);
    MPI_Cancel(&request);
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.values, 1);
    EXPECT_TRUE(cancelled);
}

TEST_P(persistent, is_not_stopped_without_a_stop_request_whatever_its_status_says) {
    ending end;
    ex::inplace_stop_source stop;
    for (int i = 0; i < 2; ++i) {
        auto plain = ex::connect(thence::start_mpi(request), receiver{&end});
        auto stoppable = ex::connect(thence::start_mpi(request), receiver{&end, stop.get_token()});
        i == 0 ? ex::start(plain) : ex::start(stoppable);
        world.complete(request, {.cancelled = true});
        EXPECT_TRUE(eventually([&] { return end.values == i + 1; }));
    }
}

TEST_P(persistent, its_failure_is_an_error) {
    ending end;
    auto operation = ex::connect(thence::start_mpi(request), receiver{&end});
    ex::start(operation);
    world.complete(request, {.error = MPI_ERR_TRUNCATE});
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.completion_error(), MPI_ERR_TRUNCATE);
    reported();
}

THENCE_RULES(persistent);

} // namespace
