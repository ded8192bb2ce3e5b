// SPDX-License-Identifier: BSD-3-Clause
// For tests of thread communicators: a thread communicator with a number of threads in each process, and regions of it.
#pragma once

#include <thence/mpix.h>

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

class threads_of {
public:
    explicit threads_of(int count) : count_(count) {
        EXPECT_EQ(MPIX_Threadcomm_init(MPI_COMM_WORLD, count, &comm), MPI_SUCCESS);
        MPI_Comm_set_errhandler(comm, thence_errors_return());
    }
    ~threads_of() {
        EXPECT_EQ(MPIX_Threadcomm_free(&comm), MPI_SUCCESS);
        EXPECT_EQ(comm, MPI_COMM_NULL);
    }
    threads_of(const threads_of &) = delete;
    threads_of &operator=(const threads_of &) = delete;

    // Each thread calls `body` with its rank and the number of ranks.
    void run(const std::function<void(int rank, int size)> &body) const {
        std::vector<std::thread> threads;
        for (int i = 0; i < count_; ++i) {
            threads.emplace_back([&, i] {
                ASSERT_EQ(thence_threadcomm_start_as(comm, i), MPI_SUCCESS);
                int rank = -1;
                int size = -1;
                EXPECT_EQ(MPI_Comm_rank(comm, &rank), MPI_SUCCESS);
                EXPECT_EQ(MPI_Comm_size(comm, &size), MPI_SUCCESS);
                body(rank, size);
                EXPECT_EQ(MPIX_Threadcomm_finish(comm), MPI_SUCCESS);
            });
        }
        for (std::thread &each : threads) {
            each.join();
        }
    }

    MPI_Comm comm = MPI_COMM_NULL;

private:
    int count_;
};
