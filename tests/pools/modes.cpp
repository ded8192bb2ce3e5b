// SPDX-License-Identifier: BSD-3-Clause
// What holds in every mode: values, errors and stops arrive, once, whatever method and flags.
#include "all_modes.hpp"

#include <array>
#include <numeric>

namespace {

class any_mode : public testing::TestWithParam<thence::completion_mode> {
protected:
    thence::completion_mode mode() const { return GetParam(); }
    thence::pools &pools = shared_pools();
    errors_return returned;
};

TEST_P(any_mode, values_and_messages_arrive) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{20000}}) { // eager, and with a handshake
        std::vector<int> out(count, 17);
        std::vector<int> in(count);
        auto receive = ex::just(in.data(), static_cast<int>(count), MPI_INT, 0, 1, MPI_COMM_SELF) |
                       pools.transform_mpi(MPI_Irecv, mode(), thence::with_status);
        auto send = ex::just(out.data(), static_cast<int>(count), MPI_INT, 0, 1, MPI_COMM_SELF) |
                    pools.transform_mpi(MPI_Isend, mode());
        int received = 0;
        pools.sync_wait(ex::when_all(
            std::move(receive) | ex::then([&](auto *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status status) {
                MPI_Get_count(&status, MPI_INT, &received);
            }),
            std::move(send) | ex::then([](auto &&...) {})));
        EXPECT_EQ(received, static_cast<int>(count));
        EXPECT_EQ(in, out);
    }
}

TEST_P(any_mode, many_at_once_all_arrive) {
    constexpr int many = 40;
    std::array<int, many> in{};
    std::array<int, many> out{};
    std::iota(out.begin(), out.end(), 0);
    ex::counting_scope scope;
    std::atomic<int> sum{0};
    for (int i = 0; i < many; ++i) {
        ex::spawn(ex::just(&in[static_cast<std::size_t>(i)], 1, MPI_INT, 0, i, MPI_COMM_SELF) |
                      pools.transform_mpi(MPI_Irecv, mode()) |
                      ex::then([&](int *got, auto &&...) noexcept { sum.fetch_add(*got); }) |
                      ex::upon_error([](const std::exception_ptr &) noexcept { ADD_FAILURE(); }),
                  scope.get_token());
    }
    for (int i = 0; i < many; ++i) {
        ex::spawn(ex::just(&out[static_cast<std::size_t>(i)], 1, MPI_INT, 0, i, MPI_COMM_SELF) |
                      pools.transform_mpi(MPI_Isend, mode()) | ex::then([](auto &&...) noexcept {}) |
                      ex::upon_error([](const std::exception_ptr &) noexcept { ADD_FAILURE(); }),
                  scope.get_token());
    }
    pools.sync_wait(scope.join());
    EXPECT_EQ(sum.load(), many * (many - 1) / 2);
    EXPECT_EQ(in, out);
}

// Pools end with nothing outstanding: what may never complete is left by way of a scope.
TEST_P(any_mode, leaving_a_scope_may_cancel_operations_in_flight) {
    std::array<int, 8> in{};
    std::atomic<std::size_t> started{0};
    ex::counting_scope scope;
    for (int &value : in) {
        ex::spawn(ex::just() |
                      pools.transform_mpi(
                          [&](MPI_Request *request) {
                              MPI_Irecv(&value, 1, MPI_INT, 0, 77, MPI_COMM_SELF, request);
                              ++started;
                          },
                          mode()) |
                      ex::then([]() noexcept { ADD_FAILURE() << "nobody has sent it"; }) |
                      ex::upon_error([](const std::exception_ptr &) noexcept { ADD_FAILURE(); }),
                  scope.get_token());
    }
    pools.work_until([&] { return started == in.size(); });
    scope.request_stop();
    pools.sync_wait(scope.join());
}

TEST_P(any_mode, groups_and_collectives_complete_once) {
    std::array<int, 2> in{};
    std::array<int, 2> out{3, 4};
    int mine = 1;
    int total = 0;
    int ended = 0;
    pools.sync_wait(ex::when_all(ex::just() |
                                     pools.transform_mpi(
                                         [&](thence::requests<4> r) {
                                             MPI_Irecv(&in[0], 1, MPI_INT, 0, 5, MPI_COMM_SELF, &r[0]);
                                             MPI_Irecv(&in[1], 1, MPI_INT, 0, 6, MPI_COMM_SELF, &r[1]);
                                             MPI_Isend(&out[1], 1, MPI_INT, 0, 6, MPI_COMM_SELF, &r[2]);
                                             MPI_Isend(&out[0], 1, MPI_INT, 0, 5, MPI_COMM_SELF, &r[3]);
                                         },
                                         mode()) |
                                     ex::then([&] { ++ended; }),
                                 ex::just() | pools.transform_mpi(
                                                  [&](MPI_Request *r) {
                                                      return MPI_Iallreduce(&mine, &total, 1, MPI_INT, MPI_SUM,
                                                                            MPI_COMM_WORLD, r);
                                                  },
                                                  mode())));
    EXPECT_EQ(ended, 1);
    EXPECT_EQ(in, out);
    EXPECT_EQ(total, ranks());
}

// pika completes such a receiver twice.
TEST_P(any_mode, a_call_that_fails_completes_once_with_its_error) {
    int errors = 0;
    int values = 0;
    pools.sync_wait(ex::just() | pools.transform_mpi([](MPI_Request *) { return MPI_ERR_RANK; }, mode()) |
                    ex::then([&] { ++values; }) | ex::upon_error([&](const std::exception_ptr &error) {
                        ++errors;
                        EXPECT_THROW(std::rethrow_exception(error), thence::mpi_error);
                    }));
    EXPECT_EQ(errors, 1);
    EXPECT_EQ(values, 0);
    EXPECT_THROW(
        pools.sync_wait(ex::just() |
                        pools.transform_mpi([](MPI_Request *) -> int { throw std::runtime_error("no"); }, mode())),
        std::runtime_error);
}

// pika: a truncation that its first test finds becomes a value.
TEST_P(any_mode, a_truncated_receive_is_an_error) {
    NEEDS_TWO_RANKS();
    std::array<int, 2> data{1, 2};
    int room = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) {
        pools.sync_wait(ex::just(data.data(), 2, MPI_INT, 1, 9, MPI_COMM_WORLD) |
                        pools.transform_mpi(MPI_Isend, mode()));
    } else {
        try {
            pools.sync_wait(ex::just(&room, 1, MPI_INT, 0, 9, MPI_COMM_WORLD) | pools.transform_mpi(MPI_Irecv, mode()));
            ADD_FAILURE() << "no error";
        } catch (const thence::mpi_error &error) {
            EXPECT_EQ(error.error_class(), MPI_ERR_TRUNCATE);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST_P(any_mode, a_stop_request_cancels_a_receive) {
    int room = 0;
    bool values = false;
    // The one that is stopped is stopped by the other's end.
    auto receive = ex::just(&room, 1, MPI_INT, 0, 11, MPI_COMM_SELF) | pools.transform_mpi(MPI_Irecv, mode()) |
                   ex::then([&](auto &&...) { values = true; });
    auto fails = ex::schedule(pools.workers()) | ex::then([] { throw std::runtime_error("stop the others"); });
    EXPECT_THROW(pools.sync_wait(ex::when_all(std::move(receive), std::move(fails))), std::runtime_error);
    EXPECT_FALSE(values);
}

INSTANTIATE_TEST_SUITE_P(all, any_mode, testing::ValuesIn(all_modes()), name_of);

} // namespace
