// SPDX-License-Identifier: BSD-3-Clause
// Shared by the tests of thence/mpi.hpp: a fixture with a communicator and the neighbours of this rank, and types to
// send.
#pragma once

#include <thence/mpi.hpp>

#include <gtest/gtest.h>

namespace ex = thence::ex;

namespace typed_tests {

struct particle {
    float x;
    int id;
};

class typed : public testing::Test {
protected:
    // Runs the coroutine to its end on this rank.
    template <class Program> void run(Program program) { ASSERT_TRUE(thence::sync_wait(program())); }
    // Awaits a sender whose call fails. Returns the error class.
    template <class Sender> int class_of_call_error(Sender sender) {
        try {
            thence::sync_wait(std::move(sender));
        } catch (const thence::mpi_error &e) {
            EXPECT_EQ(e.where(), thence::mpi_error::origin::call);
            return e.error_class();
        }
        return MPI_SUCCESS;
    }
    // One number per process.
    std::size_t all() const { return static_cast<std::size_t>(size); }

    thence::communicator comm = thence::communicator::world().duplicate();
    int size = comm.size();
    int me = comm.rank();
    int right = (me + 1) % size;
    int left = (me + size - 1) % size;
};

} // namespace typed_tests
