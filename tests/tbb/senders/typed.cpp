// SPDX-License-Identifier: BSD-3-Clause
// thence/mpi.hpp on the real MPI, any number of ranks: what is sent arrives, as values of C++ types.
#include "typed.hpp"

#include <array>
#include <functional>
#include <numeric>
#include <vector>

using typed_tests::particle;
using typed_tests::typed;

namespace {

TEST_F(typed, a_ring_of_ranges) {
    run([&]() -> ex::task<> {
        const std::vector<double> out(4, me);
        std::array<double, 6> in{};
        const thence::message_status status = co_await comm.sendrecv(out, right, in, left, 3);
        EXPECT_EQ(status.count<double>(), 4U);
        EXPECT_EQ(status.source(), left);
        EXPECT_EQ(status.tag(), 3);
        EXPECT_EQ(in[3], left);
        EXPECT_EQ(in[4], 0);
    });
}

TEST_F(typed, buffers_that_are_moved_in_are_sent) {
    run([&]() -> ex::task<> {
        auto [sent, received, status] = co_await ex::when_all(comm.send(std::vector<particle>(2, {0.5F, me}), right),
                                                              comm.recv(std::vector<particle>(3), left));
        EXPECT_EQ(sent.size(), 2U);
        EXPECT_EQ(status.template count<particle>(), 2U);
        EXPECT_EQ(received[1].id, left);
        EXPECT_EQ(received[1].x, 0.5F);
    });
}

TEST_F(typed, a_buffer_that_is_moved_in_exists_until_completion) {
    std::vector<double> every(all());
    // The sender outlives the expression that creates it, so it must not refer to temporaries.
    auto gathered = [&] { return comm.allgather(std::vector<double>{me + 0.5}, every); }();
    auto exchanged = [&] { return comm.alltoall(std::vector<int>(all(), me), std::vector<int>(all(), -1)); }();
    auto reduced = [&] { return comm.allreduce(std::vector<int>{me, 1}, std::vector<int>(2), std::plus<>()); }();
    auto scattered = [&] { return comm.scatter(every, std::vector<double>(1)); }();
    auto shifted = [&] { return comm.sendrecv(std::vector<int>(5000, me), right, std::vector<int>(5000), left, 4); }();
    const std::vector<std::vector<double>> reuse(
        8, std::vector<double>(all(), -7)); // reuses the memory of a buffer that was freed too early
    run([&]() -> ex::task<> {
        const std::vector<double> part = co_await std::move(gathered);
        EXPECT_EQ(part, std::vector<double>{me + 0.5});
        EXPECT_EQ(every.back(), size - 0.5);
        auto [sent, received] = co_await std::move(exchanged);
        EXPECT_EQ(sent, std::vector<int>(all(), me));
        EXPECT_EQ(received.back(), size - 1);
        auto [in, sums] = co_await std::move(reduced);
        EXPECT_EQ(in.front(), me);
        EXPECT_EQ(sums, (std::vector<int>{size * (size - 1) / 2, size}));
        const std::vector<double> own = co_await std::move(scattered);
        EXPECT_EQ(own.front(), me + 0.5);
        auto [out, from_left, status] = co_await std::move(shifted);
        EXPECT_EQ(out.back(), me);
        EXPECT_EQ(from_left.back(), left);
        EXPECT_EQ(status.template count<int>(), 5000U);
    });
    static_assert(thence::detail::moves_in<std::vector<int>> && !thence::detail::moves_in<std::span<int>>);
}

TEST_F(typed, a_count_of_elements_of_another_type_is_an_error) {
    run([&]() -> ex::task<> {
        const std::vector<char> five(5);
        std::vector<char> room(8);
        const thence::message_status status = co_await comm.sendrecv(five, right, room, left);
        EXPECT_EQ(status.bytes(), 5U);
        EXPECT_EQ(status.count<char>(), 5U);
        EXPECT_EQ((status.count<std::array<char, 5>>()), 1U);
        try {
            ADD_FAILURE() << status.count<int>();
        } catch (const thence::error &e) {
            EXPECT_EQ(e.error_class(), MPI_ERR_TYPE);
            EXPECT_NE(std::string(e.what()).find("5 bytes"), std::string::npos) << e.what();
        }
        try {
            ADD_FAILURE() << status.count<particle>();
        } catch (const thence::error &e) {
            EXPECT_EQ(e.error_class(), MPI_ERR_TYPE);
        }
    });
}

int errors_raised = 0;
void count_error(MPI_Comm *, int *, ...) {
    ++errors_raised;
}

TEST_F(typed, processes_outside_of_a_new_communicator_have_an_empty_handle) {
    // Errors without a communicator go to the error handlers of these two. By default they end the job.
    MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(count_error, &counting);
    const std::array<MPI_Comm, 2> raised_on{MPI_COMM_WORLD, MPI_COMM_SELF};
    std::array<MPI_Errhandler, 2> before{};
    for (std::size_t i = 0; i != 2; ++i) {
        MPI_Comm_get_errhandler(raised_on[i], &before[i]);
        MPI_Comm_set_errhandler(raised_on[i], counting);
    }
    const int dims = 1;
    const int period = 0;
    MPI_Comm cart = MPI_COMM_NULL;
    MPI_Cart_create(comm.get(), 1, &dims, &period, 0, &cart);
    {
        const thence::communicator first = thence::communicator::owning(cart);
        EXPECT_EQ(static_cast<bool>(first), me == 0);
        EXPECT_EQ(first.size(), me == 0 ? 1 : 0);
        EXPECT_EQ(first.rank(), me == 0 ? 0 : MPI_PROC_NULL);
        const thence::communicator same = comm.split(me == 0 ? 0 : MPI_UNDEFINED);
        EXPECT_EQ(static_cast<bool>(same), me == 0);
    }
    EXPECT_EQ(errors_raised, 0);
    for (std::size_t i = 0; i != 2; ++i) {
        MPI_Comm_set_errhandler(raised_on[i], before[i]);
        MPI_Errhandler_free(&before[i]);
    }
    MPI_Errhandler_free(&counting);
}

TEST_F(typed, a_bad_rank_is_an_error_of_the_call) {
    try {
        thence::sync_wait(comm.send(me, size + 5));
        FAIL();
    } catch (const thence::mpi_error &e) {
        EXPECT_EQ(e.error_class(), MPI_ERR_RANK);
        EXPECT_EQ(e.where(), thence::mpi_error::origin::call);
    }
}

TEST_F(typed, truncation_is_an_error_of_the_completion) {
    if (size < 2) {
        GTEST_SKIP() << "messages to self are not always truncated with an error";
    }
    const std::vector<int> two(2);
    int one = 0;
    if (me == 0) {
        thence::sync_wait(comm.send(two, 1));
    } else if (me == 1) {
        try {
            thence::sync_wait(comm.recv(one, 0));
            ADD_FAILURE();
        } catch (const thence::mpi_error &e) {
            EXPECT_EQ(e.error_class(), MPI_ERR_TRUNCATE);
            EXPECT_EQ(e.where(), thence::mpi_error::origin::completion);
        }
    }
    thence::sync_wait(comm.barrier());
}

TEST_F(typed, a_pending_receive_is_cancelled_with_its_scope) {
    int never = 0;
    auto race = [&]() -> ex::task<> {
        co_await ex::when_all(comm.recv(never, left, 99) | ex::then([](auto) {}), ex::just_stopped());
    };
    EXPECT_FALSE(thence::sync_wait(race()).has_value());
    thence::sync_wait(comm.barrier());
    run([&]() -> ex::task<> { // the cancelled receive does not take a later message
        const int value = 7;
        int got = 0;
        co_await comm.sendrecv(value, right, got, left, 99);
        EXPECT_EQ(got, 7);
    });
}

// In another implementation, blocking methods with inline requests deadlocked above the eager limit.
TEST_F(typed, the_ring_ends_at_every_message_size) {
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{8192}, std::size_t{131072}}) {
        run([&]() -> ex::task<> {
            std::vector<char> out(bytes, static_cast<char>(me));
            std::vector<char> in(bytes);
            for (int round = 0; round < 5; ++round) {
                co_await comm.sendrecv(out, right, in, left);
                std::swap(in, out);
            }
            EXPECT_EQ(out.back(), static_cast<char>((me + 5 * (size - 1)) % size));
        });
    }
}

TEST_F(typed, persistent_requests_start_again) {
    int out = 0;
    int in = -1;
    MPI_Request send = MPI_REQUEST_NULL;
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Send_init(&out, 1, MPI_INT, right, 0, comm.get(), &send);
    MPI_Recv_init(&in, 1, MPI_INT, left, 0, comm.get(), &receive);
    run([&]() -> ex::task<> {
        for (out = 0; out < 3; ++out) {
            co_await ex::when_all(thence::start_mpi(send), thence::start_mpi(receive));
            EXPECT_EQ(in, out);
        }
    });
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

} // namespace
