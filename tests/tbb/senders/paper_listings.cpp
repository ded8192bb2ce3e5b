// SPDX-License-Identifier: BSD-3-Clause
// The listings of Biddiscombe et al. 2025, section 2, as programs: what is sent is released by the work that follows
// the send, and the arguments of a call are piped in or given with it. docs/guide/porting.md says which word differs.
#include <thence/transform_mpi.hpp>

#include <atomic>
#include <vector>

#include <gtest/gtest.h>

namespace ex = thence::ex;

namespace {

using ex::just;
using ex::start_detached;
using ex::then;
using thence::call_mpi;
using thence::transform_mpi;

constexpr int tag = 5;
constexpr int number = 40000; // more than MPI sends before the receive

std::atomic<int> released{0};
void release(const double *message) {
    delete[] message;
    ++released;
}

class listings : public testing::Test {
protected:
    void SetUp() override {
        released = 0;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        int rank = 0;
        int size = 0;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        next = (rank + 1) % size;
        before = (rank + size - 1) % size;
        own = rank;
    }
    void TearDown() override { MPI_Comm_free(&comm); }
    double *message() const {
        auto *made = new double[number];
        for (int i = 0; i < number; ++i) {
            made[i] = own + i;
        }
        return made;
    }
    void expect_message_in(const std::vector<double> &got) const {
        for (int i = 0; i < number; ++i) {
            ASSERT_EQ(got[static_cast<std::size_t>(i)], before + i);
        }
    }

    MPI_Comm comm = MPI_COMM_NULL;
    int next = 0;
    int before = 0;
    int own = 0;
};

TEST_F(listings, a_detached_send_releases_its_message) {
    double *buffer = message();
    auto send =
        just(buffer, number, MPI_DOUBLE, next, tag, comm) | call_mpi(MPI_Isend) | then([buffer] { release(buffer); });
    start_detached(send);
    std::vector<double> got(number);
    thence::sync_wait(just(got.data(), number, MPI_DOUBLE, before, tag, comm) | call_mpi(MPI_Irecv));
    expect_message_in(got);
    while (released == 0) {
        thence_progress();
    }
    EXPECT_EQ(released, 1);
}

TEST_F(listings, the_arguments_may_be_given_with_the_call) {
    double *buffer = message();
    std::vector<double> got(number);
    auto send = transform_mpi(just(buffer, number, MPI_DOUBLE, next, tag, comm), MPI_Isend) |
                then([](double *sent, auto &&...) { release(sent); });
    auto receive =
        transform_mpi(just(got.data(), number, MPI_DOUBLE, before, tag, comm), MPI_Irecv) | then([](auto &&...) {});
    thence::sync_wait(ex::when_all(std::move(send), std::move(receive)));
    expect_message_in(got);
    EXPECT_EQ(released, 1);
}

// A call takes the arguments that precede it, and the request as its last one.
TEST_F(listings, a_wrapper_of_a_call_takes_the_request_last) {
    std::vector<double> got(number);
    double *buffer = message();
    auto send = [](double *from, int to, MPI_Comm where, MPI_Request *request) {
        return MPI_Isend(from, number, MPI_DOUBLE, to, tag, where, request);
    };
    thence::sync_wait(ex::when_all(just(buffer, next, comm) | call_mpi(send) | then([buffer] { release(buffer); }),
                                   just(got.data(), number, MPI_DOUBLE, before, tag, comm) | call_mpi(MPI_Irecv)));
    expect_message_in(got);
    EXPECT_EQ(released, 1);
}

} // namespace
