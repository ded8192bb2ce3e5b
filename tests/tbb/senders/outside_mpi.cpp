// SPDX-License-Identifier: BSD-3-Clause
// usage: senders_outside_mpi before|after CASE
// Before MPI_Init and after MPI_Finalize, calls that need MPI throw an exception that names the call and says what to
// do. MPI does not end the program. Each case is a process, since a process initializes MPI once.
#include <thence/adapter.hpp>
#include <thence/mpi.hpp>
#include <thence/timeout.hpp>
#if defined(THENCE_TEST_POOLS)
#include <thence/pools.hpp>
#endif

#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <string>

namespace ex = thence::ex;

namespace {

using namespace std::chrono_literals;

const auto self = thence::communicator::self();
int word = 0;

ex::task<> receive() {
    co_await self.recv(word, 0);
}

// `ex::sync_wait` makes no progress, so the operation itself must complete.
void start_a_receive() {
    ex::sync_wait(self.recv(word, 0));
}
void start_any_call() {
    ex::sync_wait(ex::just(MPI_COMM_SELF) | thence::transform_mpi(MPI_Ibarrier));
}
void start_one_that_can_be_stopped() {
    ex::sync_wait(self.recv(word, 0) | thence::timeout(10s));
}
void await_a_receive() {
    ex::sync_wait(receive());
}
void wait_for_a_deadline() {
    thence::sync_wait(self.recv(word, 0) | thence::timeout(1ms));
}
void wait_for_values() {
    thence::sync_wait(ex::just(1));
}
void run_a_loop() {
    thence::progress_loop().run();
}
void ask_for_the_rank() {
    (void)self.rank();
}
void ask_for_the_size() {
    (void)self.size();
}
void duplicate() {
    (void)self.duplicate();
}
void split() {
    (void)self.split(0);
}
void gather() {
    ex::sync_wait(self.allgather(word, word));
}
void make_a_continuation_request() {
    const thence::continuation_request cr;
}
void make_progress() {
    thence::progress_until([] { return false; });
}
#if defined(THENCE_TEST_POOLS)
void make_pools() {
    const thence::pools pools({.workers = 1});
}
#endif

struct expectation {
    std::function<void()> run;
    std::string call;
};

const std::map<std::string, expectation> cases {
    {"receive", {start_a_receive, "thence::transform_mpi: an operation was started"}},
        {"call", {start_any_call, "thence::transform_mpi: an operation was started"}},
        {"stoppable", {start_one_that_can_be_stopped, "thence::transform_mpi: an operation was started"}},
        {"coroutine", {await_a_receive, "thence::transform_mpi: an operation was started"}},
        {"deadline", {wait_for_a_deadline, "thence::sync_wait: called"}},
        {"sync_wait", {wait_for_values, "thence::sync_wait: called"}},
        {"progress_loop", {run_a_loop, "thence::progress_loop::run: called"}},
        {"rank", {ask_for_the_rank, "thence::communicator::rank: called"}},
        {"size", {ask_for_the_size, "thence::communicator::size: called"}},
        {"duplicate", {duplicate, "thence::communicator::duplicate: called"}},
        {"split", {split, "thence::communicator::split: called"}},
        {"gather", {gather, "thence::communicator::size: called"}},
        {"continuation_request", {make_a_continuation_request, "thence::continuation_request: created"}},
        {"progress_until", {make_progress, "thence::progress_until: called"}},
#if defined(THENCE_TEST_POOLS)
        {"pools", {make_pools, "thence::pools: made"}},
#endif
};

// @return whether it threw a mpi_inactive that names the call, and `cure`.
bool is_refused(const expectation &expected, const std::string &cure) {
    try {
        expected.run();
        std::puts("nothing was thrown");
    } catch (const thence::mpi_inactive &refused) {
        const std::string text = refused.what();
        std::puts(text.c_str());
        return text.starts_with(expected.call) && text.find(cure) != text.npos;
    } catch (const std::exception &other) {
        std::printf("another exception: %s\n", other.what());
    }
    return false;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 3 || !cases.contains(argv[2])) {
        return 2;
    }
    const bool after = std::string(argv[1]) == "after";
    if (after) {
        MPI_Init(&argc, &argv);
        int got = 0;
        thence::sync_wait(self.sendrecv(
            word, 0, got, 0)); // the library creates its continuation requests, and frees them at MPI_Finalize
        MPI_Finalize();
    }
    return is_refused(cases.at(argv[2]), after ? "MPI_Finalize" : "MPI_Init") ? 0 : 1;
}
