// SPDX-License-Identifier: BSD-3-Clause
// Kinds of operations that thence/mpi.hpp does not have, as senders on the real MPI: one-sided, partitioned, and groups
// of persistent requests. And which object frees a communicator.
#include <thence/mpi.hpp>
#include <thence/transform_mpi.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace {

namespace ex = thence::ex;

struct kinds : testing::Test {
    kinds() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    int rank = 0;
    int size = 1;
};

TEST_F(kinds, one_sided_operations_complete) {
    int *exposed = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    ASSERT_EQ(MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                               static_cast<void *>(&exposed), &window),
              MPI_SUCCESS);
    MPI_Win_lock_all(0, window);
    const int right = (rank + 1) % size;
    const std::array<int, 2> out{rank + 1, rank + 2};
    std::array<int, 2> in{};
    EXPECT_TRUE(thence::sync_wait(ex::just(out.data(), 2, MPI_INT, right, 0, 2, MPI_INT, window) |
                                  thence::transform_mpi(MPI_Rput) | ex::then([](auto &&...) {}))
                    .has_value());
    MPI_Win_flush(right, window); // the completion of the sender only means that `out` may be used again
    EXPECT_TRUE(thence::sync_wait(ex::just(in.data(), 2, MPI_INT, right, 0, 2, MPI_INT, window) |
                                  thence::transform_mpi(MPI_Rget) | ex::then([](auto &&...) {}))
                    .has_value());
    EXPECT_EQ(in, out);
    const int more = 10;
    EXPECT_TRUE(thence::sync_wait(ex::just(&more, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, window) |
                                  thence::transform_mpi(MPI_Raccumulate) | ex::then([](auto &&...) {}))
                    .has_value());
    MPI_Win_flush(right, window);
    EXPECT_TRUE(thence::sync_wait(ex::just(in.data(), 1, MPI_INT, right, 0, 1, MPI_INT, window) |
                                  thence::transform_mpi(MPI_Rget) | ex::then([](auto &&...) {}))
                    .has_value());
    EXPECT_EQ(in[0], rank + 11);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
TEST_F(kinds, a_partitioned_operation_completes_each_time_it_is_started) {
    constexpr int partitions = 4;
    constexpr int each = 500;
    std::vector<int> data(partitions * each, -1);
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0 && size > 1) {
        MPI_Precv_init(data.data(), partitions, each, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    } else if (rank == 1) {
        MPI_Psend_init(data.data(), partitions, each, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    }
    if (request == MPI_REQUEST_NULL) {
        GTEST_SKIP() << "needs two ranks";
    }
    for (int turn = 0; turn < 3; ++turn) {
        std::fill(data.begin(), data.end(), rank == 1 ? turn : -1);
        auto ready = ex::just() | ex::then([&] {
                         for (int p = 0; p < partitions && rank == 1; ++p) {
                             MPI_Pready(p, request);
                         }
                     });
        // when_all starts them in this order: the partitions are ready after the start.
        EXPECT_TRUE(thence::sync_wait(ex::when_all(thence::start_mpi(request), std::move(ready))).has_value());
        EXPECT_NE(request, MPI_REQUEST_NULL) << "the caller still owns it";
        EXPECT_EQ(data.front(), turn);
        EXPECT_EQ(data.back(), turn);
    }
    MPI_Request_free(&request);
}
#endif

TEST_F(kinds, a_group_of_persistent_requests_completes_each_time_it_is_started) {
    int in = -1;
    int out = 0;
    std::array<MPI_Request, 2> own{};
    MPI_Recv_init(&in, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &own[0]);
    MPI_Send_init(&out, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &own[1]);
    for (int turn = 0; turn < 3; ++turn) {
        out = 10 * turn + rank;
        EXPECT_TRUE(thence::sync_wait(ex::just() | thence::transform_mpi(
                                                       [&](thence::requests<2> started) {
                                                           const int code = MPI_Startall(2, own.data());
                                                           started[0] = own[0];
                                                           started[1] = own[1];
                                                           return code;
                                                       },
                                                       thence::persistent))
                        .has_value());
        EXPECT_EQ(in, 10 * turn + (rank + size - 1) % size);
    }
    MPI_Request_free(&own[0]);
    MPI_Request_free(&own[1]);
}

// An attribute that counts how often communicators with it are freed.
class freed_communicators {
public:
    freed_communicators() {
        MPI_Comm_create_keyval(
            MPI_COMM_NULL_COPY_FN,
            [](MPI_Comm, int, void *count, void *) -> int {
                ++*static_cast<int *>(count);
                return MPI_SUCCESS;
            },
            &keyval_, nullptr);
    }
    ~freed_communicators() { MPI_Comm_free_keyval(&keyval_); }
    freed_communicators(const freed_communicators &) = delete;
    freed_communicators &operator=(const freed_communicators &) = delete;
    void watch(MPI_Comm comm) { MPI_Comm_set_attr(comm, keyval_, &count_); }
    int count() const { return count_; }

private:
    int keyval_ = MPI_KEYVAL_INVALID;
    int count_ = 0;
};

TEST_F(kinds, an_owned_communicator_is_freed_once) {
    freed_communicators freed;
    {
        thence::communicator one = thence::communicator::world().duplicate();
        freed.watch(one.get());
        thence::communicator moved = std::move(one);
        EXPECT_FALSE(one); // NOLINT(bugprone-use-after-move): the subject
        EXPECT_TRUE(moved);
        one = std::move(moved);
        EXPECT_TRUE(one);
        EXPECT_EQ(freed.count(), 0);
    }
    EXPECT_EQ(freed.count(), 1);
    {
        thence::communicator one = thence::communicator::world().split(rank, 0);
        thence::communicator other = thence::communicator::world().duplicate();
        freed.watch(one.get());
        freed.watch(other.get());
        std::swap(one, other);
        EXPECT_EQ(other.size(), 1);
        EXPECT_EQ(freed.count(), 1);
    }
    EXPECT_EQ(freed.count(), 3);
}

TEST_F(kinds, a_view_of_a_communicator_does_not_free_it) {
    freed_communicators freed;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    freed.watch(made);
    {
        thence::communicator view = thence::communicator::view(made);
        const thence::communicator moved = std::move(view);
        EXPECT_EQ(moved.size(), size);
    }
    EXPECT_EQ(freed.count(), 0);
    {
        const thence::communicator owning = thence::communicator::owning(made);
        EXPECT_EQ(owning.rank(), rank);
    }
    EXPECT_EQ(freed.count(), 1);
}

// No message ever matches these receives.
TEST_F(kinds, a_scope_can_stop_operations_in_flight) {
    std::array<int, 4> in{};
    ex::counting_scope scope;
    for (int &value : in) {
        ex::spawn(ex::just(&value, 1, MPI_INT, rank, 77, MPI_COMM_WORLD) | thence::transform_mpi(MPI_Irecv) |
                      ex::then([](auto &&...) noexcept { ADD_FAILURE() << "no message was sent"; }) |
                      ex::upon_error([](auto &&) noexcept { ADD_FAILURE(); }),
                  scope.get_token());
    }
    scope.request_stop();
    EXPECT_TRUE(thence::sync_wait(scope.join()).has_value());
}

} // namespace
