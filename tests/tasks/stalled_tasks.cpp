// SPDX-License-Identifier: BSD-3-Clause
// Tasks that all wait, while no operation of MPI is outstanding, are reported with the call that submitted each
// (THENCE_STALL, which ctest sets).
#include "standard_error.hpp"

#include <thence/dataflow.h>
#include <thence/dataflow.hpp>
#include <thence/task_runtime.h>

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <unistd.h>

namespace {

class stalled_tasks : public testing::Test {
protected:
    stalled_tasks() { EXPECT_EQ(thence_task_runtime_add(thence_flow_task_runtime()), MPI_SUCCESS); }
    ~stalled_tasks() override { EXPECT_EQ(thence_task_runtime_remove(thence_flow_task_runtime()), MPI_SUCCESS); }
};

TEST_F(stalled_tasks, that_all_wait_are_reported_with_the_call_that_submitted_them) {
    thence_info facts{};
    ASSERT_EQ(thence_query(&facts, sizeof facts), MPI_SUCCESS); // the library and its detector begin
    standard_error printed;
    {
        thence::flow flow;
        int x = 0;
        std::atomic<bool> is_known{false};
        thence::task_ref first;
        flow.submit({thence::out(&x)}, {.label = "first"}, [&] {
            first = thence::current_task();
            is_known = true;
            thence::block_current();
        });
        flow.submit({thence::in(&x)}, {.label = "second"}, [] {});
        const std::string text = printed.read_until("\"second\" of thence-tasks waits for earlier tasks");
        EXPECT_NE(text.find("stall: all tasks wait"), std::string::npos) << text;
        EXPECT_NE(text.find("task \"first\" of thence-tasks is blocked, submitted at"), std::string::npos) << text;
        EXPECT_NE(text.find("TestBody"), std::string::npos) << text;
        ASSERT_TRUE(is_known);
        thence::unblock(first);
        flow.taskwait();
        printed.read_until("stall over: tasks go on");
    }
}

// While a task runs, the others are not reported: it may end their wait.
TEST_F(stalled_tasks, are_not_reported_while_one_runs) {
    standard_error printed;
    {
        thence::flow flow;
        int x = 0;
        std::atomic<bool> ends{false};
        flow.submit({thence::out(&x)}, [&] {
            while (!ends) {
                usleep(1000);
            }
        });
        flow.submit({thence::in(&x)}, {.label = "second"}, [] {});
        // The detector reports a continuation that is late, and not the tasks, although both wait for as long.
        int value = 0;
        const int sent = 1; // MPICH refuses a message to oneself from the buffer that receives it
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
        MPI_Request cr = MPI_REQUEST_NULL;
        ASSERT_EQ(thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, &cr), MPI_SUCCESS);
        const auto late = [](int, MPI_Status *, void *) { return int{MPI_SUCCESS}; };
        ASSERT_EQ(thence_attach(1, &request, late, nullptr, 0, MPI_STATUSES_IGNORE, cr, nullptr), MPI_SUCCESS);
        const std::string text = printed.read_until("stall: no continuation has completed");
        EXPECT_EQ(text.find("all tasks wait"), std::string::npos) << text;
        MPI_Send(&sent, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
        EXPECT_EQ(thence_wait(&cr, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(thence_free(&cr), MPI_SUCCESS);
        ends = true;
        flow.taskwait();
    }
}

} // namespace
