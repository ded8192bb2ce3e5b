// SPDX-License-Identifier: BSD-3-Clause
// What the tests of TAGASPI share: a process that has begun it, and segments.
#pragma once

#include "tampi_tasks.hpp"

#include <TAGASPI.h>

#include <gtest/gtest.h>

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
