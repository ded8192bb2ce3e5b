// SPDX-License-Identifier: BSD-3-Clause
// What the tests of TAGASPI share: a process that has begun it, and segments.
#pragma once

#include "tampi_tasks.hpp"

#include <TAGASPI.h>

#include <gtest/gtest.h>
#include <mpi.h>

class tagaspi : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(tagaspi_proc_init(GASPI_BLOCK), GASPI_SUCCESS);
        next = static_cast<gaspi_rank_t>(next_rank);
        previous = static_cast<gaspi_rank_t>(previous_rank);
    }
    void TearDown() override {
        if (!HasFatalFailure()) {
            EXPECT_EQ(tagaspi_proc_term(GASPI_BLOCK), GASPI_SUCCESS);
        }
    }
    template <class T> T *make(gaspi_segment_id_t number, gaspi_size_t count) {
        EXPECT_EQ(gaspi_segment_create(number, count * sizeof(T), GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED),
                  GASPI_SUCCESS);
        gaspi_pointer_t memory = nullptr;
        EXPECT_EQ(gaspi_segment_ptr(number, &memory), GASPI_SUCCESS);
        return static_cast<T *>(memory);
    }
    static void meet() { EXPECT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS); }

    gaspi_rank_t next = 0;
    gaspi_rank_t previous = 0;
};

// Begins MPI, runs the tests, and ends MPI. 77: this MPI has not the thread level.
inline int run_all_tests(int argc, char **argv, int level) {
    int provided = -1;
    MPI_Init_thread(&argc, &argv, level, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    find_ranks();
    testing::InitGoogleTest(&argc, argv);
    int result = RUN_ALL_TESTS();
    MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return result;
}
