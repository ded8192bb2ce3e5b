// SPDX-License-Identifier: BSD-3-Clause
// What follows an operation with high priority does not wait for the tasks that are queued: its completion is found,
// and it runs, after at most a few of them, with every method.
#include "all_modes.hpp"

#include <atomic>
#include <chrono>
#include <string>

namespace {

class priority : public testing::TestWithParam<const char *> {};

// The worker is in a task, in which the operation starts and becomes complete, and many tasks wait in its queue.
// Returns how many of them ran before the work that follows the operation.
int tasks_before(thence::pools &pools, const std::string &mode) {
    constexpr int queued = 120; // fewer than lie between two polls
    std::atomic<int> ran{0};
    std::atomic<int> before{-1};
    ex::counting_scope scope;
    const auto spawn = [&](auto &&sender) {
        ex::spawn(std::move(sender) | ex::upon_error([](const std::exception_ptr &) noexcept { ADD_FAILURE(); }),
                  scope.get_token());
    };
    int got = 0;
    const int sent = 1;
    spawn(ex::schedule(pools.workers()) | ex::then([&] {
              for (int i = 0; i < queued; ++i) {
                  spawn(ex::schedule(pools.workers()) | ex::then([&] {
                            const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
                            while (std::chrono::steady_clock::now() < end) {
                            }
                            ++ran;
                        }));
              }
              spawn(ex::just() |
                    pools.transform_mpi(
                        [&](MPI_Request *r) { return MPI_Irecv(&got, 1, MPI_INT, 0, 91, MPI_COMM_SELF, r); },
                        thence::parse_completion_mode(mode), thence::uncancellable) |
                    ex::then([&]() noexcept { before = ran.load(); }));
              MPI_Request send = MPI_REQUEST_NULL; // starts, and completes when the receive is there
              MPI_Isend(&sent, 1, MPI_INT, 0, 91, MPI_COMM_SELF, &send);
              MPI_Wait(&send, MPI_STATUS_IGNORE);
          }));
    while (before < 0 || ran < queued) {
        std::this_thread::yield(); // not in the pools: the worker is the only runner
    }
    pools.sync_wait(scope.join());
    return before;
}

// Another busy process may take the processor at any time, and the watchdog polls then; so the best of several counts.
TEST_P(priority, is_not_behind_the_tasks_that_are_queued) {
    thence::pools pools({.workers = 1});
    int best = 1000;
    for (int i = 0; i < 5; ++i) {
        best = std::min(best, tasks_before(pools, std::string(GetParam()) + ",high-priority,inline-request"));
    }
    EXPECT_LE(best, 8) << "of 120 tasks";
}

INSTANTIATE_TEST_SUITE_P(all, priority,
                         testing::Values("continuation", "mpix", "new-task", "yield-while", "suspend-resume"),
                         [](const auto &of) {
                             std::string name = of.param;
                             for (char &c : name) {
                                 if (c == '-') {
                                     c = '_';
                                 }
                             }
                             return name;
                         });

} // namespace
