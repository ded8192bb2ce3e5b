// SPDX-License-Identifier: BSD-3-Clause
// TAMPI on the real MPI. Each runtime makes a program of this file, tampi_kinds.cpp, tampi_main.cpp and its own
// find_runtime(). Many tests start more tasks that wait than there are workers, before those that they wait for: they
// end only because no call keeps a worker.
#include "tampi_tasks.hpp"
#include "tampi_wrappers.h"

#include <TAMPI.h>

#include <gtest/gtest.h>
#include <thence/task_runtime.h>
#include <thence/thence.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

TEST(tampi, both_modes_are_on) {
    int value = 0;
    EXPECT_EQ(TAMPI_Property_get(TAMPI_PROPERTY_BLOCKING_MODE, &value), MPI_SUCCESS);
    EXPECT_EQ(value, 1);
    EXPECT_EQ(TAMPI_Nonblocking_enabled(&value), MPI_SUCCESS);
    EXPECT_EQ(value, 1);
}

TEST(tampi, the_helper_thread_runs_unless_a_task_is_to_poll) {
    const char *const setting = std::getenv("THENCE_PROGRESS");
    const thence_task_runtime *with_alpi = nullptr;
    EXPECT_EQ(thence_task_runtime_alpi(&with_alpi, nullptr), MPI_SUCCESS);
    const bool a_task_polls = setting != nullptr && std::strcmp(setting, "task") == 0 && with_alpi != nullptr;
    thence_info info{};
    EXPECT_EQ(thence_query(&info, sizeof info), MPI_SUCCESS);
    EXPECT_STREQ(info.helper, a_task_polls ? "not started" : "running");
}

TEST(tampi, tasks_in_blocking_calls_keep_no_worker) {
    const long before = blocked();
    std::array<int, many> received{};
    tasks all;
    for (int i = 0; i < many; ++i) {
        all.start([&, i] {
            MPI_Status status{};
            EXPECT_EQ(
                MPI_Recv(&received[static_cast<std::size_t>(i)], 1, MPI_INT, previous_rank, i, MPI_COMM_WORLD, &status),
                MPI_SUCCESS);
            EXPECT_EQ(status.MPI_TAG, i);
            EXPECT_EQ(received[static_cast<std::size_t>(i)], 1000 * previous_rank + i);
        });
    }
    while (blocked() - before < many) {
        std::this_thread::yield();
    }
    MPI_Barrier(MPI_COMM_WORLD); // nobody sends before all tasks of all ranks are blocked
    for (int i = 0; i < many; ++i) {
        all.start([i] {
            const int sent = 1000 * rank + i;
            EXPECT_EQ(MPI_Ssend(&sent, 1, MPI_INT, next_rank, i, MPI_COMM_WORLD), MPI_SUCCESS);
        });
    }
}

TEST(tampi, waits_for_several_keep_no_worker) {
    std::atomic<int> waiting{0};
    tasks all;
    for (int i = 0; i < many; ++i) {
        all.start([i, &waiting] {
            std::array<int, 2> received{};
            std::array<MPI_Request, 2> requests;
            for (int j = 0; j < 2; ++j) {
                MPI_Irecv(&received[static_cast<std::size_t>(j)], 1, MPI_INT, previous_rank, 2 * i + j, MPI_COMM_WORLD,
                          &requests[static_cast<std::size_t>(j)]);
            }
            ++waiting;
            if (i % 3 == 0) {
                std::array<MPI_Status, 2> statuses;
                EXPECT_EQ(MPI_Waitall(2, requests.data(), statuses.data()), MPI_SUCCESS);
                EXPECT_EQ(statuses[1].MPI_TAG, 2 * i + 1);
            }
            for (int left = i % 3 == 0 ? 0 : 2; left > 0;) {
                int found = 1;
                int index[2];
                if (i % 3 == 1) {
                    EXPECT_EQ(MPI_Waitany(2, requests.data(), index, MPI_STATUS_IGNORE), MPI_SUCCESS);
                } else {
                    EXPECT_EQ(MPI_Waitsome(2, requests.data(), &found, index, MPI_STATUSES_IGNORE), MPI_SUCCESS);
                }
                left -= found;
            }
            EXPECT_EQ(received[0], 2 * i);
            EXPECT_EQ(received[1], 2 * i + 1);
        });
    }
    while (waiting < many) {
        std::this_thread::yield();
    }
    for (int i = 0; i < 2 * many; ++i) {
        MPI_Send(&i, 1, MPI_INT, next_rank, i, MPI_COMM_WORLD);
    }
}

TEST(tampi, probes_and_exchanges_keep_no_worker) {
    std::atomic<int> probing{0};
    tasks all;
    for (int i = 0; i < many; ++i) {
        all.start([i, &probing] {
            int received = 0;
            ++probing;
            if (i % 2 == 0) {
                MPI_Status status;
                EXPECT_EQ(MPI_Probe(previous_rank, i, MPI_COMM_WORLD, &status), MPI_SUCCESS);
                EXPECT_EQ(MPI_Recv(&received, 1, MPI_INT, status.MPI_SOURCE, i, MPI_COMM_WORLD, &status), MPI_SUCCESS);
            } else {
                MPI_Message message;
                EXPECT_EQ(MPI_Mprobe(previous_rank, i, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
                EXPECT_EQ(MPI_Mrecv(&received, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
            }
            EXPECT_EQ(received, i);
        });
    }
    while (probing < many) {
        std::this_thread::yield();
    }
    for (int i = 0; i < many; ++i) {
        MPI_Send(&i, 1, MPI_INT, next_rank, i, MPI_COMM_WORLD);
    }
    all.wait();
    for (int i = 0; i < many; ++i) {
        all.start([i] {
            int mine = 10 * rank + i;
            int theirs = -1;
            EXPECT_EQ(MPI_Sendrecv(&mine, 1, MPI_INT, next_rank, i, &theirs, 1, MPI_INT, previous_rank, i,
                                   MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                      MPI_SUCCESS);
            EXPECT_EQ(theirs, 10 * previous_rank + i);
            EXPECT_EQ(MPI_Sendrecv_replace(&mine, 1, MPI_INT, next_rank, many + i, previous_rank, many + i,
                                           MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                      MPI_SUCCESS);
            EXPECT_EQ(mine, 10 * previous_rank + i);
        });
    }
}

// Rank 0 calls them in tasks, all others in main.
TEST(tampi, collectives_in_tasks_match_those_outside) {
    std::vector<MPI_Comm> comms(many);
    for (MPI_Comm &comm : comms) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    }
    const auto call = [](MPI_Comm comm) {
        int sum = 0;
        const int one = 1 + rank;
        EXPECT_EQ(MPI_Barrier(comm), MPI_SUCCESS);
        EXPECT_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
        EXPECT_EQ(sum, size * (size + 1) / 2);
        EXPECT_EQ(MPI_Bcast(&sum, 1, MPI_INT, size - 1, comm), MPI_SUCCESS);
        std::vector<int> from_all(static_cast<std::size_t>(size));
        EXPECT_EQ(MPI_Allgather(&one, 1, MPI_INT, from_all.data(), 1, MPI_INT, comm), MPI_SUCCESS);
        EXPECT_EQ(from_all.back(), size);
        EXPECT_EQ(MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, from_all.data(), 1, MPI_INT, comm), MPI_SUCCESS);
        EXPECT_EQ(from_all.front(), 1 + rank);
        EXPECT_EQ(MPI_Scan(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
        EXPECT_EQ(sum, (rank + 1) * size * (size + 1) / 2);
    };
    {
        tasks all;
        for (const MPI_Comm comm : comms) {
            if (rank == 0) {
                all.start([&call, comm] { call(comm); });
            } else {
                call(comm);
            }
        }
    }
    for (MPI_Comm &comm : comms) {
        MPI_Comm_free(&comm);
    }
}

TEST(tampi, a_task_is_complete_after_the_operations_that_it_has_bound) {
    struct buffers {
        std::array<int, 2> received{};
        std::array<MPI_Status, 2> statuses{};
    };
    std::vector<buffers> all_buffers(many);
    std::atomic<int> bodies{0};
    tasks all;
    for (int i = 0; i < many; ++i) {
        buffers &mine = all_buffers[static_cast<std::size_t>(i)];
        all.start(
            [&mine, &bodies, i] {
                std::array<MPI_Request, 2> requests;
                for (int j = 0; j < 2; ++j) {
                    MPI_Irecv(&mine.received[static_cast<std::size_t>(j)], 1, MPI_INT, previous_rank, 2 * i + j,
                              MPI_COMM_WORLD, &requests[static_cast<std::size_t>(j)]);
                }
                EXPECT_EQ(TAMPI_Iwaitall(2, requests.data(), mine.statuses.data()), MPI_SUCCESS);
                EXPECT_EQ(requests[0], MPI_REQUEST_NULL);
                ++bodies;
            },
            [&mine, i] {
                EXPECT_EQ(mine.received[0], 2 * i);
                EXPECT_EQ(mine.received[1], 2 * i + 1);
                EXPECT_EQ(mine.statuses[0].MPI_TAG, 2 * i);
                EXPECT_EQ(mine.statuses[1].MPI_TAG, 2 * i + 1);
            });
    }
    while (bodies < many) { // no body waits for a message
        std::this_thread::yield();
    }
    for (int i = 0; i < 2 * many; ++i) {
        all.start([i] {
            static std::array<int, 2 * many> sent;
            sent[static_cast<std::size_t>(i)] = i;
            MPI_Request request = MPI_REQUEST_NULL;
            EXPECT_EQ(
                TAMPI_Isend(&sent[static_cast<std::size_t>(i)], 1, MPI_INT, next_rank, i, MPI_COMM_WORLD, &request),
                MPI_SUCCESS);
            EXPECT_EQ(request, MPI_REQUEST_NULL);
        });
    }
}

TEST(tampi, every_wrapper_does_its_operation_in_tasks_and_outside) {
    std::array<char, 8192> attached;
    MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
    for (auto *form : {&wrappers_of_3, &wrappers_of_4}) {
        auto buffers = std::make_unique<wrapper_buffers>();
        wrapper_prepare(buffers.get(), MPI_COMM_WORLD);
        {
            tasks all;
            all.start([&] { EXPECT_EQ(form(buffers.get(), MPI_COMM_WORLD), 0); });
        }
        EXPECT_EQ(wrapper_faults(buffers.get(), MPI_COMM_WORLD), 0);
    }
    auto buffers = std::make_unique<wrapper_buffers>();
    wrapper_prepare(buffers.get(), MPI_COMM_WORLD);
    EXPECT_EQ(wrappers_of_3(buffers.get(), MPI_COMM_WORLD), 0);
    EXPECT_EQ(wrapper_faults(buffers.get(), MPI_COMM_WORLD), 0);
    void *detached = nullptr;
    int bytes = 0;
    MPI_Buffer_detach(&detached, &bytes);
}

// What the variable held before must not be taken for the request.
TEST(tampi, a_wrapper_that_is_refused_leaves_a_null_request) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, thence_errors_return());
    int received = 0;
    MPI_Request other = MPI_REQUEST_NULL;
    MPI_Irecv(&received, 1, MPI_INT, 0, 0, comm, &other);
    MPI_Request request = other;
    EXPECT_NE(TAMPI_Isend(&received, -1, MPI_INT, 0, 0, comm, &request), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    MPI_Status status{};
    request = other;
    EXPECT_NE(TAMPI_Irecv(&received, -1, MPI_INT, 0, 0, comm, &request, &status), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    const int sent = 7;
    MPI_Send(&sent, 1, MPI_INT, 0, 0, comm);
    EXPECT_EQ(MPI_Wait(&other, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(received, 7);
    MPI_Comm_free(&comm);
}

TEST(tampi, a_failed_operation_ends_no_process_and_holds_no_task) {
    if (size == 1) {
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
    MPI_Status status{};
    std::atomic<bool> bound{false};
    const auto class_of = [](int code) {
        int error_class = code;
        MPI_Error_class(code, &error_class);
        return error_class;
    };
    tasks all;
    all.start(
        [&] {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(received.data(), 500, MPI_INT, previous_rank, 0, comm, &request);
            EXPECT_EQ(TAMPI_Iwait(&request, &status), MPI_SUCCESS);
            bound = true;
        },
        [&] { EXPECT_EQ(class_of(status.MPI_ERROR), MPI_ERR_TRUNCATE); });
    while (!bound) {
        std::this_thread::yield();
    }
    MPI_Barrier(comm);
    MPI_Send(sent.data(), 1000, MPI_INT, next_rank, 0, comm);
    all.wait();
    all.start([&] {
        EXPECT_EQ(class_of(MPI_Recv(received.data(), 500, MPI_INT, previous_rank, 1, comm, MPI_STATUS_IGNORE)),
                  MPI_ERR_TRUNCATE);
    });
    MPI_Send(sent.data(), 1000, MPI_INT, next_rank, 1, comm);
    all.wait();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before[0]);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, before[1]);
    MPI_Comm_free(&comm);
}

TEST(tampi, ten_thousand_operations_are_outstanding) {
    constexpr int operations = 10000;
    std::vector<int> received(operations);
    tasks all;
    std::atomic<bool> bound{false};
    all.start([&] {
        for (int i = 0; i < operations; ++i) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&received[static_cast<std::size_t>(i)], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &request);
            ASSERT_EQ(TAMPI_Iwait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
        bound = true;
    });
    while (!bound) {
        std::this_thread::yield();
    }
    EXPECT_EQ(all.running(), 1);
    for (int i = 0; i < operations; ++i) {
        MPI_Send(&i, 1, MPI_INT, rank, i, MPI_COMM_WORLD);
    }
    all.wait();
    for (int i = 0; i < operations; ++i) {
        ASSERT_EQ(received[static_cast<std::size_t>(i)], i);
    }
}

} // namespace
