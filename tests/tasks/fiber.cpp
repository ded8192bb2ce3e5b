// SPDX-License-Identifier: BSD-3-Clause
// Fibers as tasks of a runtime: one is blocked until its message is there, and its thread runs others.
#include <thence/fiber.hpp>

#include <boost/fiber/algo/round_robin.hpp>
#include <gtest/gtest.h>

#include <vector>

namespace {

class fiber : public testing::Test {
protected:
    fiber() { EXPECT_EQ(thence_task_runtime_add(&thence::fibers::task_runtime()), MPI_SUCCESS); }
    ~fiber() override { EXPECT_EQ(thence_task_runtime_remove(&thence::fibers::task_runtime()), MPI_SUCCESS); }
    thence::continuation_request cr_;
};

TEST_F(fiber, is_blocked_while_others_send_what_it_waits_for) {
    constexpr int fibers = 100;
    std::vector<int> received(fibers, -1);
    int waited = 0;
    const thence::fibers::progress_fiber progress;
    std::vector<boost::fibers::fiber> all;
    for (int i = 0; i < fibers; ++i) {
        all.emplace_back([&, i] {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Status status;
            MPI_Irecv(&received[static_cast<std::size_t>(i)], 1, MPI_INT, 0, i, MPI_COMM_SELF, &request);
            EXPECT_EQ(thence_task_wait(1, &request, 0, &status, cr_), MPI_SUCCESS);
            EXPECT_EQ(status.MPI_TAG, i);
            ++waited;
        });
    }
    all.emplace_back([&] {
        EXPECT_EQ(waited, 0) << "all fibers before this one are blocked";
        for (int i = fibers - 1; i >= 0; --i) {
            MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_SELF);
        }
    });
    for (boost::fibers::fiber &each : all) {
        each.join();
    }
    for (int i = 0; i < fibers; ++i) {
        EXPECT_EQ(received[static_cast<std::size_t>(i)], i);
    }
}

TEST_F(fiber, is_started_and_sleeps_as_a_task) {
    const thence_task_runtime &runtime = thence::fibers::task_runtime();
    struct state {
        bool ran = false;
        bool completed = false;
    } s;
    EXPECT_EQ(runtime.spawn([](void *argument) { static_cast<state *>(argument)->ran = true; }, &s,
                            [](void *argument) { static_cast<state *>(argument)->completed = true; }, &s, nullptr),
              0);
    std::uint64_t slept = 0;
    EXPECT_EQ(runtime.sleep_for(1000000, &slept), 0);
    EXPECT_GE(slept, 1000000U);
    EXPECT_TRUE(s.ran);
    EXPECT_TRUE(s.completed);
    EXPECT_EQ(runtime.raise_events, nullptr);
}

} // namespace
