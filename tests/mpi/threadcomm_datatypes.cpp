// SPDX-License-Identifier: BSD-3-Clause
// The datatypes of nonblocking collectives on thread communicators: which of them count, and what a user's operation
// gets.
#include "threadcomm.hpp"

#include <atomic>
#include <cstdint>
#include <numeric>

namespace {
std::atomic<int> mpi_errors{0};
void count_error(MPI_Comm *, int *, ...) {
    ++mpi_errors;
}
} // namespace

// What MPI ignores may be anything: at a root or on other ranks, or because of MPI_IN_PLACE.
TEST(threadcomm_datatypes, arguments_without_meaning_are_not_looked_at) {
    threads_of t(2);
    MPI_Errhandler counts = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(&count_error, &counts);
    const MPI_Comm predefined[] = {MPI_COMM_WORLD, MPI_COMM_SELF}; // where MPI reports that a datatype is wrong
    MPI_Errhandler before[2] = {};
    for (int i : {0, 1}) {
        MPI_Comm_get_errhandler(predefined[i], &before[i]);
        MPI_Comm_set_errhandler(predefined[i], counts);
    }
    const MPI_Datatype none{}; // no datatype in any MPI
    t.run([&](int rank, int size) {
        const auto all = static_cast<std::size_t>(size);
        const std::vector<MPI_Datatype> nones(all, none);
        const std::vector<MPI_Datatype> ints(all, MPI_INT);
        const std::vector<int> ones(all, 1);
        std::vector<int> places(all);
        for (std::size_t i = 0; i < all; ++i) {
            places[i] = static_cast<int>(i * sizeof(int));
        }
        std::vector<int> gathered(all, rank), scattered(all), both(all, rank), exchanged(all, rank), as_well(all, rank);
        std::iota(scattered.begin(), scattered.end(), 0);
        int mine = rank;
        MPI_Request requests[5];
        if (rank == 0) {
            MPI_Igather(MPI_IN_PLACE, 0, none, gathered.data(), 1, MPI_INT, 0, t.comm, &requests[0]);
            MPI_Iscatter(scattered.data(), 1, MPI_INT, MPI_IN_PLACE, 0, none, 0, t.comm, &requests[1]);
        } else {
            MPI_Igather(&rank, 1, MPI_INT, nullptr, 0, none, 0, t.comm, &requests[0]);
            MPI_Iscatter(nullptr, 0, none, &mine, 1, MPI_INT, 0, t.comm, &requests[1]);
        }
        MPI_Iallgather(MPI_IN_PLACE, 0, none, both.data(), 1, MPI_INT, t.comm, &requests[2]);
        MPI_Ialltoall(MPI_IN_PLACE, 0, none, exchanged.data(), 1, MPI_INT, t.comm, &requests[3]);
        MPI_Ialltoallw(MPI_IN_PLACE, nullptr, nullptr, nones.data(), as_well.data(), ones.data(), places.data(),
                       ints.data(), t.comm, &requests[4]);
        ASSERT_EQ(MPI_Waitall(5, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(mine, rank);
        EXPECT_TRUE(rank != 0 || gathered == scattered);
        std::iota(scattered.begin(), scattered.end(), 0);
        EXPECT_EQ(both, scattered);
        EXPECT_EQ(exchanged, scattered);
        EXPECT_EQ(as_well, scattered);
    });
    for (int i : {0, 1}) {
        MPI_Comm_set_errhandler(predefined[i], before[i]);
        MPI_Errhandler_free(&before[i]);
    }
    MPI_Errhandler_free(&counts);
    EXPECT_EQ(mpi_errors.load(), 0);
}

namespace {
MPI_Datatype given_type = MPI_DATATYPE_NULL; // set while no operation is open
std::atomic<int> other_types{0};
void sum_of_pairs(void *in, void *inout, int *n, MPI_Datatype *type) {
    other_types += *type == given_type ? 0 : 1;
    for (int i = 0; i < 2 * *n; ++i) {
        static_cast<std::int64_t *>(inout)[i] += static_cast<const std::int64_t *>(in)[i];
    }
}
} // namespace

// A user's operation gets the handle that was given to the call, although the user may free the datatype.
TEST(threadcomm_datatypes, operations_get_the_datatype_of_the_call) {
    threads_of t(2);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(&sum_of_pairs, 1, &op);
    MPI_Type_contiguous(2, MPI_INT64_T, &given_type);
    MPI_Type_commit(&given_type);
    std::atomic<int> started{0};
    t.run([&](int rank, int size) {
        const std::int64_t all = size;
        std::vector<std::int64_t> total(200, rank), before(200, 1);
        MPI_Request requests[2];
        MPI_Iallreduce(MPI_IN_PLACE, total.data(), 100, given_type, op, t.comm, &requests[0]);
        MPI_Iscan(MPI_IN_PLACE, before.data(), 100, given_type, op, t.comm, &requests[1]);
        if (++started == 2) { // of this process
            MPI_Datatype freed = given_type;
            MPI_Type_free(&freed);
        }
        ASSERT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(total, std::vector<std::int64_t>(200, all * (all - 1) / 2));
        EXPECT_EQ(before, std::vector<std::int64_t>(200, rank + 1));
    });
    EXPECT_EQ(other_types.load(), 0);
    MPI_Op_free(&op);
}
