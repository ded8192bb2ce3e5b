// SPDX-License-Identifier: BSD-3-Clause
// The data-flow layer, whose table is added before MPI is initialized. And what only tasks with dependences show.
#include "flow_runtime.hpp"

#include <TAMPI.h>
#include <thence/dataflow.h>
#include <thence/dataflow.hpp>
#include <thence/task_runtime.h>

#include <vector>

void find_runtime() {
    use_flow();
}

namespace {

// Numbers go around all ranks, one task for each step. Nothing but the dependences orders the tasks of a process.
TEST(tampi_flow, successors_see_data_and_statuses) {
    thence::flow graph({.workers = 2});
    struct message {
        int data = 0;
        MPI_Status status{};
    };
    constexpr int laps = 10;
    std::vector<message> all(many);
    std::vector<int> sent(many); // by rank 0: a send to oneself need not be complete before its receive is started
    std::atomic<int> right{0};
    for (int lap = 0; lap < laps; ++lap) {
        for (int i = 0; i < many; ++i) {
            message &one = all[static_cast<std::size_t>(i)];
            const auto receive = [&one, i, lap] {
                MPI_Request request = MPI_REQUEST_NULL;
                MPI_Irecv(&one.data, 1, MPI_INT, previous_rank, i, MPI_COMM_WORLD, &request);
                if (lap % 2 == 0) {
                    EXPECT_EQ(TAMPI_Iwait(&request, &one.status), MPI_SUCCESS);
                } else {
                    EXPECT_EQ(TAMPI_Iwaitall(1, &request, &one.status), MPI_SUCCESS);
                }
            };
            const auto check_and_add = [&one, &right, i, lap] {
                const int expected = i + size * lap + (rank == 0 ? size : rank) - 1;
                right += one.data == expected && one.status.MPI_TAG == i ? 1 : 0;
                ++one.data;
            };
            int &to_send = rank == 0 ? sent[static_cast<std::size_t>(i)] : one.data;
            const auto send = [&to_send, i] {
                MPI_Request request = MPI_REQUEST_NULL;
                EXPECT_EQ(TAMPI_Isend(&to_send, 1, MPI_INT, next_rank, i, MPI_COMM_WORLD, &request), MPI_SUCCESS);
            };
            if (rank == 0) {
                if (lap == 0) {
                    graph.submit({thence::out(&one)}, [&one, i] { one.data = i; });
                }
                graph.submit({thence::in(&one), thence::out(&to_send)}, [&one, &to_send] { to_send = one.data; });
                graph.submit({thence::in(&to_send)}, send);
                graph.submit({thence::out(&one)}, receive);
                graph.submit({thence::inout(&one)}, check_and_add);
            } else {
                graph.submit({thence::out(&one)}, receive);
                graph.submit({thence::inout(&one)}, check_and_add);
                graph.submit({thence::in(&one)}, send);
            }
        }
    }
    graph.taskwait();
    EXPECT_EQ(right, laps * many);
}

TEST(tampi_flow, blocking_calls_order_tasks_as_their_dependences_say) {
    thence::flow graph({.workers = 2});
    std::vector<int> values(many);
    for (int i = 0; i < many; ++i) {
        int &value = values[static_cast<std::size_t>(i)];
        graph.submit({thence::out(&value)}, [&value, i] {
            EXPECT_EQ(MPI_Recv(&value, 1, MPI_INT, previous_rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        });
        graph.submit({thence::inout(&value)}, [&value] { value *= 2; });
    }
    for (int i = 0; i < many; ++i) {
        graph.submit({}, [i] { EXPECT_EQ(MPI_Ssend(&i, 1, MPI_INT, next_rank, i, MPI_COMM_WORLD), MPI_SUCCESS); });
    }
    graph.taskwait();
    for (int i = 0; i < many; ++i) {
        EXPECT_EQ(values[static_cast<std::size_t>(i)], 2 * i);
    }
}

} // namespace
