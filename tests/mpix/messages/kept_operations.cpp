// SPDX-License-Identifier: BSD-3-Clause
// A user's operation is freed by MPI after the last reduction that uses it, if the user frees it before.
#include "mpix/threadcomm/kept_operations.hpp"

#include "core/mpi/calls.hpp"
#include "fake_mpi.hpp"
#include "request.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace {

using thence::threadcomm::free_after_use;
using thence::threadcomm::kept_operation;

std::vector<MPI_Op> freed; // by MPI

int free_by_mpi(MPI_Op *op) {
    freed.push_back(*op);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

class kept_operations : public ::testing::Test {
protected:
    kept_operations() {
        thence::fake::world.begin({});
        thence::mpi::table.Op_free = &free_by_mpi;
        freed.clear();
    }
    ~kept_operations() override { thence::fake::world.end(); }

    const MPI_Op one = thence::fake::make_handle<MPI_Op>(0x7700);
    const MPI_Op other = thence::fake::make_handle<MPI_Op>(0x7710);
};

} // namespace

TEST_F(kept_operations, mpi_frees_one_at_the_end_of_the_last_reduction) {
    MPI_Op user = one;
    {
        const kept_operation last(one);
        {
            const kept_operation first(one);
            EXPECT_TRUE(free_after_use(user));
            EXPECT_EQ(user, MPI_OP_NULL);
        }
        EXPECT_TRUE(freed.empty());
    }
    EXPECT_EQ(freed, std::vector<MPI_Op>{one});
    user = one; // MPI may give the handle to another operation now
    EXPECT_FALSE(free_after_use(user));
    EXPECT_EQ(user, one);
}

TEST_F(kept_operations, the_user_frees_one_that_no_reduction_uses) {
    MPI_Op user = one;
    {
        const kept_operation kept(one);
        MPI_Op unused = other;
        EXPECT_FALSE(free_after_use(unused));
        EXPECT_EQ(unused, other);
    }
    EXPECT_TRUE(freed.empty());
    EXPECT_FALSE(free_after_use(user));
    EXPECT_EQ(user, one);
}

TEST_F(kept_operations, a_use_moves_with_its_reduction) {
    MPI_Op user = one;
    kept_operation kept;
    {
        kept_operation call(one);
        kept = std::move(call);
    }
    EXPECT_TRUE(free_after_use(user));
    EXPECT_TRUE(freed.empty());
    kept = kept_operation();
    EXPECT_EQ(freed, std::vector<MPI_Op>{one});
}

TEST_F(kept_operations, those_of_mpi_are_not_kept) {
    MPI_Op null = MPI_OP_NULL;
    MPI_Op sum = MPI_SUM;
    const kept_operation with_null(null);
    const kept_operation with_sum(sum);
    EXPECT_FALSE(free_after_use(null)); // so MPI reports the error
    EXPECT_FALSE(free_after_use(sum));
}
