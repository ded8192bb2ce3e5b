// SPDX-License-Identifier: BSD-3-Clause
// Tasks with data dependences as tasks of a runtime: operations delay their end or block them. Two workers; tests start
// more tasks that wait than there are workers, before the messages are sent.
#include "flow_blocked.hpp"

#include <thence/adapter.hpp>
#include <thence/dataflow.h>
#include <thence/dataflow.hpp>
#include <thence/task_runtime.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace {

constexpr int many = 20; // tasks, more than workers

class flow : public testing::Test {
protected:
    flow() {
        EXPECT_EQ(thence_task_runtime_add(thence_flow_task_runtime()), MPI_SUCCESS);
        EXPECT_EQ(thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr_), MPI_SUCCESS);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
        previous_ = (rank_ + size_ - 1) % size_;
        next_ = (rank_ + 1) % size_;
    }
    ~flow() override {
        EXPECT_EQ(thence_wait(&cr_, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(thence_free(&cr_), MPI_SUCCESS);
        EXPECT_EQ(thence_task_runtime_remove(thence_flow_task_runtime()), MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    static int class_of(int code) {
        int error_class = code;
        MPI_Error_class(code, &error_class);
        return error_class;
    }

    int rank_ = 0;
    int size_ = 1;
    int previous_ = 0;
    int next_ = 0;
    MPI_Request cr_ = MPI_REQUEST_NULL;
    thence::flow graph_{{.workers = 2}};
};

TEST_F(flow, the_table_has_all_parts) {
    const thence_task_runtime &table = *thence_flow_task_runtime();
    EXPECT_EQ(table.size, sizeof(thence_task_runtime));
    EXPECT_STREQ(table.name, "thence-tasks");
    EXPECT_EQ(table.current(), nullptr) << "main is no task";
    EXPECT_GE(table.workers(), 1);
    struct state {
        std::atomic<int> steps{0};
    } s;
    EXPECT_EQ(table.spawn(
                  [](void *data) {
                      const thence_task_runtime &runtime = *thence_flow_task_runtime();
                      std::uint64_t slept = 0;
                      EXPECT_EQ(runtime.sleep_for(1000, &slept), 0);
                      EXPECT_GE(slept, 1000U);
                      void *const self = runtime.current();
                      EXPECT_EQ(runtime.unblock(self), 0);
                      EXPECT_EQ(runtime.block(self), 0);
                      EXPECT_EQ(runtime.raise_events(self, 2), 0);
                      EXPECT_EQ(runtime.lower_events(self, 2, MPI_SUCCESS), 0);
                      ++static_cast<state *>(data)->steps;
                  },
                  &s, [](void *data) { ++static_cast<state *>(data)->steps; }, &s, "spawned"),
              0);
    while (s.steps != 2) {
        std::this_thread::yield();
    }
}

TEST_F(flow, successors_see_data_and_statuses_of_what_was_attached) {
    struct message {
        int data = -1;
        MPI_Status status{};
    };
    std::vector<message> all(many);
    std::atomic<int> bodies{0};
    std::atomic<int> right{0};
    for (int i = 0; i < many; ++i) {
        message &one = all[static_cast<std::size_t>(i)];
        graph_.submit({thence::out(&one)}, [&, i] {
            thence_task self{};
            EXPECT_EQ(thence_task_current(&self), MPI_SUCCESS);
            EXPECT_EQ(self.runtime, thence_flow_task_runtime());
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&one.data, 1, MPI_INT, previous_, i, MPI_COMM_WORLD, &request);
            EXPECT_EQ(thence_task_attach(1, &request, 0, &one.status, &self, cr_), MPI_SUCCESS);
            ++bodies;
        });
        graph_.submit({thence::in(&one)}, [&, i] { right += one.data == i && one.status.MPI_TAG == i ? 1 : 0; });
    }
    while (bodies != many) {
        std::this_thread::yield();
    }
    EXPECT_EQ(right, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < many; ++i) {
        MPI_Send(&i, 1, MPI_INT, next_, i, MPI_COMM_WORLD);
    }
    graph_.taskwait();
    EXPECT_EQ(right, many);
}

TEST_F(flow, onready_holds_the_body_back_until_the_message_is_there) {
    int received = 0;
    int seen = 0;
    std::atomic<bool> posted{false};
    graph_.submit({}, {}, thence::onready([&] {
                      thence_task self{};
                      EXPECT_EQ(thence_task_current(&self), MPI_SUCCESS);
                      MPI_Request request = MPI_REQUEST_NULL;
                      MPI_Irecv(&received, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
                      EXPECT_EQ(thence_task_attach(1, &request, 0, MPI_STATUSES_IGNORE, &self, cr_), MPI_SUCCESS);
                      posted = true;
                  }),
                  [&] { seen = received; });
    while (!posted) {
        std::this_thread::yield();
    }
    const int sent = 5;
    MPI_Send(&sent, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    graph_.taskwait();
    EXPECT_EQ(seen, 5);
}

TEST_F(flow, tasks_that_wait_keep_no_worker) {
    for (int i = 0; i < many; ++i) {
        graph_.submit({}, [&, i] {
            int received = -1;
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Status status{};
            MPI_Irecv(&received, 1, MPI_INT, previous_, i, MPI_COMM_WORLD, &request);
            EXPECT_EQ(thence_task_wait(1, &request, 0, &status, cr_), MPI_SUCCESS);
            EXPECT_EQ(received, i);
            EXPECT_EQ(status.MPI_TAG, i);
        });
    }
    while (blocked_tasks() != many) {
        std::this_thread::yield();
    }
    MPI_Barrier(MPI_COMM_WORLD); // nobody sends before all tasks of all ranks are blocked
    graph_.submit({}, [&] {
        for (int i = many - 1; i >= 0; --i) {
            MPI_Send(&i, 1, MPI_INT, next_, i, MPI_COMM_WORLD);
        }
    });
    graph_.taskwait();
}

TEST_F(flow, blocking_calls_of_tasks_keep_no_worker) {
    ASSERT_EQ(thence_task_blocking_calls(cr_), MPI_SUCCESS);
    for (int i = 0; i < many; ++i) {
        graph_.submit({}, [&, i] {
            std::array<int, 2> received{-1, -1};
            MPI_Status status{};
            EXPECT_EQ(MPI_Recv(received.data(), 1, MPI_INT, previous_, 2 * i, MPI_COMM_WORLD, &status), MPI_SUCCESS);
            EXPECT_EQ(status.MPI_TAG, 2 * i);
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&received[1], 1, MPI_INT, previous_, 2 * i + 1, MPI_COMM_WORLD, &request);
            EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
            EXPECT_EQ(received[0], 2 * i);
            EXPECT_EQ(received[1], 2 * i + 1);
        });
    }
    while (blocked_tasks() != many) {
        std::this_thread::yield();
    }
    MPI_Barrier(MPI_COMM_WORLD); // nobody sends before all tasks of all ranks are blocked
    for (int i = 0; i < many; ++i) {
        graph_.submit({}, [&, i] {
            const std::array<int, 2> sent{2 * i, 2 * i + 1};
            EXPECT_EQ(MPI_Ssend(sent.data(), 1, MPI_INT, next_, 2 * i, MPI_COMM_WORLD), MPI_SUCCESS);
            EXPECT_EQ(MPI_Send(&sent[1], 1, MPI_INT, next_, 2 * i + 1, MPI_COMM_WORLD), MPI_SUCCESS);
        });
    }
    graph_.taskwait();
    EXPECT_EQ(thence_task_blocking_calls(MPI_REQUEST_NULL), MPI_SUCCESS);
}

TEST_F(flow, an_error_of_an_operation_ends_the_wave) {
    if (size_ == 1) {
        GTEST_SKIP() << "Open MPI does not report truncation of messages to oneself";
    }
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    // Calls without a communicator, such as MPI_Testsome, report to one of the other two.
    std::array<MPI_Errhandler, 2> before{};
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before[0]);
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &before[1]);
    for (MPI_Comm each : {comm, MPI_COMM_WORLD, MPI_COMM_SELF}) {
        MPI_Comm_set_errhandler(each, thence_errors_return());
    }
    std::array<int, 1000> sent{};
    std::array<int, 1000> received{};
    std::atomic<bool> posted{false};
    bool successor_ran = false;
    graph_.submit({thence::out(received.data())}, {.label = "receive"}, [&] {
        thence_task self{};
        thence_task_current(&self);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(received.data(), 500, MPI_INT, previous_, 0, comm, &request);
        EXPECT_EQ(thence_task_attach(1, &request, 0, MPI_STATUSES_IGNORE, &self, cr_), MPI_SUCCESS);
        posted = true;
    });
    graph_.submit({thence::in(received.data())}, [&] { successor_ran = true; });
    while (!posted) {
        std::this_thread::yield();
    }
    MPI_Barrier(comm);
    MPI_Send(sent.data(), 1000, MPI_INT, next_, 0, comm);
    try {
        graph_.taskwait();
        ADD_FAILURE() << "taskwait() does not tell the error";
    } catch (const thence::event_error &error) {
        EXPECT_EQ(class_of(error.code()), MPI_ERR_TRUNCATE);
    }
    EXPECT_FALSE(successor_ran);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before[0]);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, before[1]);
    MPI_Comm_free(&comm);
}

} // namespace
