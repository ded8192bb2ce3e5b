// SPDX-License-Identifier: BSD-3-Clause
// In strict C too, the thread that tests in thence_omp_taskwait() takes no signal of the program.
#include "mpi_fixture.hpp"

#include <csignal>

extern "C" {
int test_of_strict_c(MPI_Request *cr, int *flag, MPI_Status *status);
int taskwait_in_strict_c(MPI_Request cr);
}

namespace {

std::atomic<int> tests{0};
std::atomic<int> tests_that_take_a_signal{0};

TEST(omp, tester_takes_no_signal_in_strict_c) {
    const thence::continuation_request cr;
    const auto begin = std::chrono::steady_clock::now();
    while (tests == 0 && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) {
        EXPECT_EQ(taskwait_in_strict_c(cr), MPI_SUCCESS); // it may be over before its thread has tested
    }
    EXPECT_GT(tests, 0);
    EXPECT_EQ(tests_that_take_a_signal, 0);
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    EXPECT_EQ(sigismember(&blocked, SIGUSR1), 0) << "on the thread that waits";
}

} // namespace

int test_of_strict_c(MPI_Request *cr, int *flag, MPI_Status *status) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    if (sigismember(&blocked, SIGUSR1) == 0) {
        ++tests_that_take_a_signal;
    }
    ++tests;
    return thence_test(cr, flag, status);
}
