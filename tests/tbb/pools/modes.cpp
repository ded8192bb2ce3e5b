// SPDX-License-Identifier: BSD-3-Clause
// What holds in every mode: values, errors and stops arrive once, with every method and all flags. And how a mode is
// chosen and read.
#include "all_modes.hpp"

#include <array>
#include <cstdlib>
#include <numeric>

namespace {

class any_mode : public testing::TestWithParam<thence::completion_mode> {
protected:
    thence::completion_mode mode() const { return GetParam(); }
    thence::pools &pools = shared_pools();
    errors_return returned;
};

TEST_P(any_mode, values_and_messages_arrive) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{20000}}) { // below and above the eager limit
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

TEST_P(any_mode, the_arguments_may_be_given_with_the_call_and_not_be_passed_on) {
    std::vector<int> out(20000, 17);
    std::vector<int> in(out.size());
    const int count = static_cast<int>(out.size());
    int received = 0;
    int *sent = nullptr;
    auto receive = pools.call_mpi(ex::just(in.data(), count, MPI_INT, 0, 1, MPI_COMM_SELF), MPI_Irecv, mode(),
                                  thence::with_status) |
                   ex::then([&](MPI_Status status) { MPI_Get_count(&status, MPI_INT, &received); });
    auto send = pools.transform_mpi(ex::just(out.data(), count, MPI_INT, 0, 1, MPI_COMM_SELF), MPI_Isend, mode()) |
                ex::then([&](int *from, auto &&...) { sent = from; });
    auto empty = ex::just(1) | pools.call_mpi([](int, MPI_Request *) {}, mode());
    pools.sync_wait(ex::when_all(std::move(receive), std::move(send), std::move(empty)));
    EXPECT_EQ(received, count);
    EXPECT_EQ(sent, out.data());
    EXPECT_EQ(in, out);
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

// When pools are destroyed nothing may be outstanding. A scope stops operations that may never complete.
TEST_P(any_mode, a_scope_can_stop_operations_in_flight) {
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
                      ex::then([]() noexcept { ADD_FAILURE() << "no message was sent"; }) |
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
    // The error of the second sender makes when_all request stop of the first.
    auto receive = ex::just(&room, 1, MPI_INT, 0, 11, MPI_COMM_SELF) | pools.transform_mpi(MPI_Irecv, mode()) |
                   ex::then([&](auto &&...) { values = true; });
    auto fails = ex::schedule(pools.workers()) | ex::then([] { throw std::runtime_error("stop the others"); });
    EXPECT_THROW(pools.sync_wait(ex::when_all(std::move(receive), std::move(fails))), std::runtime_error);
    EXPECT_FALSE(values);
}

TEST(mode, is_read_as_it_is_written) {
    for (const thence::completion_mode &each : all_modes()) {
        EXPECT_EQ(thence::parse_completion_mode(to_string(each)), each);
    }
}

TEST(mode, names_words_that_it_does_not_know) {
    for (const char *text : {"", "fast", "mpi-pool", "continuation,fast", "continuation,mpix", "continuation,"}) {
        try {
            thence::parse_completion_mode(text);
            if (std::string(text) != "continuation,") {
                ADD_FAILURE() << text;
            }
        } catch (const std::invalid_argument &error) {
            EXPECT_NE(std::string(error.what()).find("method"), std::string::npos) << error.what();
        }
    }
}

// Runs with different values of THENCE_POOLS_MODE, which is read once.
TEST(mode, comes_from_the_environment_from_the_pools_or_from_the_call) {
    const char *const wanted = std::getenv("THENCE_POOLS_MODE");
    if (wanted != nullptr && std::string_view(wanted) == "slow") {
        EXPECT_THROW(thence::pools(), std::invalid_argument);
    } else {
        EXPECT_EQ(thence::pools({.workers = 1}).mode(),
                  wanted != nullptr ? thence::parse_completion_mode(wanted) : thence::completion_mode{});
    }
    EXPECT_EQ(thence::pools({.workers = 1, .mode = thence::parse_completion_mode("new-task")}).mode(),
              thence::parse_completion_mode("new-task"));
}

TEST(options, that_are_impossible_are_refused) {
    EXPECT_THROW(thence::pools({.workers = -1}), std::invalid_argument);
    EXPECT_THROW(thence::pools({.workers = 0, .mode = thence::parse_completion_mode("suspend-resume")}),
                 std::invalid_argument);
    thence::pools pools({.workers = 0});
    EXPECT_THROW(pools.sync_wait(ex::just() | pools.transform_mpi([](MPI_Request *) {},
                                                                  thence::parse_completion_mode("suspend-resume"))),
                 std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(all, any_mode, testing::ValuesIn(all_modes()), name_of);

} // namespace
