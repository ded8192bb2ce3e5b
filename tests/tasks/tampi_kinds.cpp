// SPDX-License-Identifier: BSD-3-Clause
// Requests of every kind of MPI, bound to tasks: generalized, of one-sided calls, on intercommunicators, partitioned.
// And what a refused call says.
#include "tampi_tasks.hpp"

#include <TAMPI.h>

#include <gtest/gtest.h>
#include <thence/thence.h>

#include <array>
#include <atomic>
#include <string>
#include <vector>

namespace {

TEST(tampi_kinds, a_generalized_request_completes_when_its_owner_says_so) {
    static std::atomic<int> freed;
    freed = 0;
    std::atomic<bool> bound{false};
    std::atomic<bool> completed{false};
    MPI_Request made = MPI_REQUEST_NULL;
    MPI_Status status{};
    const auto query = [](void *, MPI_Status *to) {
        MPI_Status_set_elements(to, MPI_INT, 3);
        MPI_Status_set_cancelled(to, 0);
        to->MPI_TAG = 12;
        return int{MPI_SUCCESS};
    };
    const auto release = [](void *) {
        ++freed;
        return int{MPI_SUCCESS};
    };
    const auto cancel = [](void *, int) { return int{MPI_SUCCESS}; };
    MPI_Grequest_start(query, release, cancel, nullptr, &made);
    tasks all;
    all.start(
        [&] {
            MPI_Request request = made;
            EXPECT_EQ(TAMPI_Iwait(&request, &status), MPI_SUCCESS);
            EXPECT_EQ(request, MPI_REQUEST_NULL);
            bound = true;
        },
        [&] {
            EXPECT_TRUE(completed);
            EXPECT_EQ(status.MPI_TAG, 12);
        });
    while (!bound) {
        std::this_thread::yield();
    }
    EXPECT_EQ(all.running(), 1);
    completed = true;
    EXPECT_EQ(MPI_Grequest_complete(made), MPI_SUCCESS);
    all.wait();
    int elements = 0;
    MPI_Get_count(&status, MPI_INT, &elements);
    EXPECT_EQ(elements, 3);
    EXPECT_EQ(freed, 1);
}

TEST(tampi_kinds, one_sided_calls_with_requests) {
    int *memory = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_allocate(2 * many * static_cast<MPI_Aint>(sizeof(int)), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &window);
    for (int i = 0; i < many; ++i) {
        memory[i] = 100 * rank + i;
        memory[many + i] = -1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    std::array<int, many> got{};
    std::array<int, many> put{};
    {
        tasks all;
        for (int i = 0; i < many; ++i) {
            all.start([&, i] {
                const auto at = static_cast<std::size_t>(i);
                put[at] = 1000 * rank + i;
                std::array<MPI_Request, 2> requests{};
                MPI_Rget(&got[at], 1, MPI_INT, next_rank, i, 1, MPI_INT, window, &requests[0]);
                MPI_Rput(&put[at], 1, MPI_INT, next_rank, many + i, 1, MPI_INT, window, &requests[1]);
                EXPECT_EQ(TAMPI_Iwaitall(2, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
            });
        }
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < many; ++i) {
        EXPECT_EQ(got[static_cast<std::size_t>(i)], 100 * next_rank + i);
        EXPECT_EQ(memory[many + i], 1000 * previous_rank + i);
    }
    MPI_Win_free(&window);
}

TEST(tampi_kinds, messages_and_collectives_between_two_groups) {
    if (size == 1) {
        GTEST_SKIP() << "an intercommunicator needs two processes";
    }
    const int half = size / 2;
    const bool low = rank < half;
    MPI_Comm group = MPI_COMM_NULL;
    MPI_Comm between = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, low ? 0 : 1, rank, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, low ? half : 0, 5, &between);
    int in_group = 0;
    int others = 0;
    MPI_Comm_rank(group, &in_group);
    MPI_Comm_remote_size(between, &others);
    const int mine = rank + 1;
    int received = 0;
    int sum = 0;
    MPI_Status status{};
    {
        tasks all;
        all.start([&] {
            if (in_group >= half) {
                return; // the other group is smaller by one
            }
            std::array<MPI_Request, 2> requests{};
            MPI_Irecv(&received, 1, MPI_INT, in_group, 1, between, &requests[0]);
            MPI_Isend(&mine, 1, MPI_INT, in_group, 1, between, &requests[1]);
            EXPECT_EQ(TAMPI_Iwait(&requests[0], &status), MPI_SUCCESS);
            EXPECT_EQ(TAMPI_Iwait(&requests[1], MPI_STATUS_IGNORE), MPI_SUCCESS);
        });
        all.start([&] {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, between, &request);
            EXPECT_EQ(TAMPI_Iwait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        });
    }
    int expected = 0; // the sum over the other group
    for (int other = low ? half : 0; other < (low ? size : half); ++other) {
        expected += other + 1;
    }
    EXPECT_EQ(sum, expected);
    if (in_group < half) {
        EXPECT_EQ(received, (low ? half : 0) + in_group + 1);
        EXPECT_EQ(status.MPI_SOURCE, in_group);
    }
    MPI_Comm_free(&between);
    MPI_Comm_free(&group);
}

// MPI gives them one request that they share: it stands twice in the array by right.
TEST(tampi_kinds, operations_that_are_complete_at_once) {
    for (const int count : {3, 40}) {
        tasks all;
        all.start([count] {
            const int sent = 4;
            int received = 0;
            std::vector<MPI_Request> requests(static_cast<std::size_t>(count));
            MPI_Irecv(&received, 1, MPI_INT, rank, 6, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(&sent, 1, MPI_INT, rank, 6, MPI_COMM_WORLD, &requests[1]);
            for (int i = 2; i < count; ++i) {
                MPI_Isend(&sent, 1, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD, &requests[static_cast<std::size_t>(i)]);
            }
            EXPECT_EQ(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(TAMPI_Iwaitall(count, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(received, sent);
        });
    }
}

#if MPI_VERSION >= 4
// The requests are persistent: they stay, and each round binds them again.
TEST(tampi_kinds, partitioned_messages) {
    constexpr int partitions = 4;
    constexpr int length = 8;
    std::vector<int> sent(partitions * length);
    std::vector<int> received(partitions * length);
    MPI_Request sending = MPI_REQUEST_NULL;
    MPI_Request receiving = MPI_REQUEST_NULL;
    ASSERT_EQ(
        MPI_Psend_init(sent.data(), partitions, length, MPI_INT, next_rank, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &sending),
        MPI_SUCCESS);
    ASSERT_EQ(MPI_Precv_init(received.data(), partitions, length, MPI_INT, previous_rank, 3, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &receiving),
              MPI_SUCCESS);
    for (int round = 0; round < 3; ++round) {
        tasks all;
        all.start([&] {
            MPI_Start(&receiving);
            EXPECT_EQ(TAMPI_Iwait(&receiving, MPI_STATUS_IGNORE), MPI_SUCCESS);
        });
        all.start([&, round] {
            MPI_Start(&sending);
            for (int p = 0; p < partitions; ++p) {
                for (int i = p * length; i < (p + 1) * length; ++i) {
                    sent[static_cast<std::size_t>(i)] = 1000 * rank + 100 * round + i;
                }
                MPI_Pready(p, sending);
            }
            EXPECT_EQ(TAMPI_Iwait(&sending, MPI_STATUS_IGNORE), MPI_SUCCESS);
        });
        all.wait();
        for (int i = 0; i < partitions * length; ++i) {
            EXPECT_EQ(received[static_cast<std::size_t>(i)], 1000 * previous_rank + 100 * round + i);
        }
    }
    EXPECT_NE(sending, MPI_REQUEST_NULL);
    EXPECT_NE(receiving, MPI_REQUEST_NULL);
    MPI_Request_free(&sending);
    MPI_Request_free(&receiving);
}
#endif

TEST(tampi_kinds, a_refused_call_names_itself_and_the_argument) {
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
    const auto expect = [](int code, int error_class, const std::string &text) {
        std::array<char, MPI_MAX_ERROR_STRING + 1> found{};
        int length = 0;
        int its_class = MPI_SUCCESS;
        MPI_Error_string(code, found.data(), &length);
        MPI_Error_class(code, &its_class);
        EXPECT_EQ(its_class, error_class) << text;
        if (code != error_class) { // MPICH 4.0 keeps no texts of codes of its own classes
            EXPECT_EQ(found.data(), text);
        }
    };
    MPI_Request none = MPI_REQUEST_NULL;
    expect(TAMPI_Iwait(nullptr, MPI_STATUS_IGNORE), MPI_ERR_ARG, "TAMPI_Iwait: request is null");
    expect(TAMPI_Iwaitall(-1, &none, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "TAMPI_Iwaitall: count is negative");
    expect(TAMPI_Iwaitall(1, nullptr, MPI_STATUSES_IGNORE), MPI_ERR_ARG,
           "TAMPI_Iwaitall: requests is null and count is not 0");
    int received = 0;
    std::atomic<bool> bound{false};
    tasks all;
    all.start([&] {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&received, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &request);
        std::array<MPI_Request, 4> copies{MPI_REQUEST_NULL, request, MPI_REQUEST_NULL, request};
        expect(TAMPI_Iwaitall(4, copies.data(), MPI_STATUSES_IGNORE), MPI_ERR_REQUEST,
               "TAMPI_Iwaitall: requests[1] and requests[3] are the same request");
        EXPECT_EQ(copies[1], request);
        EXPECT_EQ(TAMPI_Iwait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        bound = true;
    });
    while (!bound) {
        std::this_thread::yield();
    }
    const int sent = 6;
    MPI_Send(&sent, 1, MPI_INT, rank, 4, MPI_COMM_WORLD);
    all.wait();
    EXPECT_EQ(received, 6);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
}

} // namespace
