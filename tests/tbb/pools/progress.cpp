// SPDX-License-Identifier: BSD-3-Clause
// The pools make progress whatever a program does in its tasks, also for operations that are not theirs. The waits here
// end only if they do.
#include "pools_fixture.hpp"

#include <thence/timeout.hpp>

#include <oneapi/tbb/task_arena.h>

#include <chrono>
#include <ctime>
#include <thread>

namespace {

using std::chrono::milliseconds;
using pools_progress = shared_pools_test;

TEST_F(pools_progress, deadlines_are_kept) {
    pending_receive never(25);
    EXPECT_THROW(pools.sync_wait(ex::just() | pools.transform_mpi([&](MPI_Request *r) {
        *r = std::exchange(never.request, MPI_REQUEST_NULL);
    }) | thence::timeout(milliseconds(5))),
                 thence::timed_out);
    int room = 0;
    MPI_Irecv(&room, 1, MPI_INT, 0, 25, MPI_COMM_SELF, &never.request); // another receive gets the message
    never.complete();
    MPI_Wait(&never.request, MPI_STATUS_IGNORE);
}

TEST_F(pools_progress, a_continuation_that_blocks_the_polling_thread_does_not_stop_progress) {
    pending_receive other(23);
    std::atomic<bool> other_done{false};
    ex::counting_scope scope;
    ex::spawn(ex::just() |
                  pools.transform_mpi(
                      [&](MPI_Request *r) { *r = std::exchange(other.request, MPI_REQUEST_NULL); },
                      thence::parse_completion_mode("continuation,mpi-pool,inline-request,inline-completion")) |
                  ex::then([&]() noexcept { other_done = true; }) |
                  ex::upon_error([](const std::exception_ptr &) noexcept { ADD_FAILURE(); }),
              scope.get_token());
    EXPECT_TRUE(after_receive("mpix,mpi-pool,inline-request,inline-completion", [&] {
        other.complete();
        while (!other_done.load()) {
            std::this_thread::yield();
        }
        return true;
    }));
    pools.sync_wait(scope.join());
}

TEST_F(pools_progress, a_completion_that_suspends_the_polling_thread_does_not_stop_progress) {
    pending_receive other(24);
    std::atomic<tbb::task::suspend_point> suspended{};
    ex::counting_scope scope;
    ex::spawn(ex::just() |
                  pools.transform_mpi([&](MPI_Request *r) { *r = std::exchange(other.request, MPI_REQUEST_NULL); },
                                      thence::parse_completion_mode("continuation,mpi-pool,inline-request")) |
                  ex::then([&]() noexcept { tbb::task::resume(suspended.load()); }) |
                  ex::upon_error([](const std::exception_ptr &) noexcept { ADD_FAILURE(); }),
              scope.get_token());
    std::thread sender;
    EXPECT_TRUE(after_receive("mpix,mpi-pool,inline-request,bypass", [&] {
        tbb::task::suspend([&](tbb::task::suspend_point point) {
            suspended = point;
            sender = std::thread([&] {
                std::this_thread::sleep_for(milliseconds(5));
                other.complete(5);
            });
        });
        return other.value() == 5;
    }));
    sender.join();
    pools.sync_wait(scope.join());
}

TEST_F(pools_progress, workers_that_compute_do_not_stop_progress) {
    std::atomic<bool> busy{false};
    std::atomic<bool> received{false};
    ex::counting_scope scope;
    ex::spawn(ex::schedule(pools.workers()) | ex::then([&]() noexcept {
                  busy = true;
                  while (!received.load()) {
                      std::this_thread::yield();
                  }
              }),
              scope.get_token());
    while (!busy.load()) {
        std::this_thread::yield();
    }
    after_receive("continuation,inline-request,inline-completion", [&] {
        received = true;
        return 0;
    });
    pools.sync_wait(scope.join());
}

// Threads may wait in the pools for other operations: those of thence/mpi.hpp and thence::transform_mpi.

TEST_F(pools_progress, a_thread_that_waits_makes_progress_for_operations_that_are_not_the_pools) {
    for (int round = 0; round < 3; ++round) {
        if (rank() == 1) {
            std::this_thread::sleep_for(milliseconds(20)); // the others have no work but their wait then
        }
        pools.sync_wait(ex::just(MPI_COMM_WORLD) | thence::transform_mpi(MPI_Ibarrier) |
                        ex::continues_on(pools.workers()) | ex::then([](MPI_Comm) {}));
        const auto in_coroutine = [](thence::pools &with) -> ex::task<> {
            co_await ex::schedule(with.workers());
            co_await (ex::just(MPI_COMM_WORLD) | thence::transform_mpi(MPI_Ibarrier) |
                      ex::continues_on(with.workers()) | ex::then([](MPI_Comm) {}));
        };
        if (rank() == 1) {
            std::this_thread::sleep_for(milliseconds(20));
        }
        pools.sync_wait(in_coroutine(pools));
        bool done = false;
        ex::counting_scope scope;
        if (rank() == 1) {
            std::this_thread::sleep_for(milliseconds(20));
        }
        ex::spawn(ex::just(MPI_COMM_WORLD) | thence::transform_mpi(MPI_Ibarrier) | ex::then([&](MPI_Comm) noexcept {
                      done = true;
                  }) | ex::upon_error([](const std::exception_ptr &) noexcept { ADD_FAILURE(); }),
                  scope.get_token());
        pools.work_until([&] { return done; });
        pools.sync_wait(scope.join());
    }
}

// These have a continuation request of their own, with every method. A test of that of mpix would not complete them.
TEST_F(pools_progress, operations_that_can_be_stopped_are_polled_for_in_every_mode) {
    const ex::inplace_stop_source stop;
    for (const thence::completion_mode &each : all_modes()) {
        if (rank() == 1) {
            std::this_thread::sleep_for(milliseconds(1));
        }
        pools.sync_wait(ex::write_env(ex::just(MPI_COMM_WORLD) | pools.transform_mpi(MPI_Ibarrier, each) |
                                          ex::then([](MPI_Comm) {}),
                                      ex::prop{ex::get_stop_token, stop.get_token()}));
    }
}

/** A receive that gets no message before its deadline. */
auto deadline_of(pending_receive &never) {
    return ex::just() |
           thence::transform_mpi([&](MPI_Request *r) { *r = std::exchange(never.request, MPI_REQUEST_NULL); }) |
           thence::timeout(milliseconds(5));
}
/** Receives the message of a receive that was cancelled. */
void receive_late(pending_receive &never, int tag) {
    int room = 0;
    MPI_Irecv(&room, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &never.request);
    never.complete();
    MPI_Wait(&never.request, MPI_STATUS_IGNORE);
}

TEST_F(pools_progress, deadlines_of_operations_that_are_not_the_pools_are_kept) {
    pending_receive never(29);
    EXPECT_THROW(pools.sync_wait(deadline_of(never)), thence::timed_out);
    receive_late(never, 29);
}

TEST(one_thread, that_computes_while_it_waits_does_not_stop_progress) {
    thence::pools pools({.workers = 0});
    pending_receive never(30);
    std::atomic<bool> over{false};
    pools.sync_wait(
        ex::when_all(ex::schedule(pools.workers()) | ex::then([&] {
                         while (!over.load()) {
                             std::this_thread::yield();
                         }
                     }),
                     deadline_of(never) | ex::upon_error([&](const std::exception_ptr &) { over = true; })));
    receive_late(never, 30);
}

/** Waits for a receive in the pools. */
void receive(thence::pools &pools, MPI_Request request, const char *mode) {
    pools.sync_wait(ex::just() | pools.transform_mpi([&](MPI_Request *r) { *r = request; },
                                                     thence::parse_completion_mode(mode), thence::uncancellable));
}

TEST(one_thread, that_waits_pauses_while_nothing_arrives) {
    thence::pools pools({.workers = 0});
    expect_pauses_while_nothing_arrives(
        [&](MPI_Request request) { receive(pools, request, "continuation,inline-request"); });
}

// One thread polls, the others wait for it.
TEST_F(pools_progress, all_threads_pause_while_nothing_arrives) {
    for (const char *mode :
         {"continuation,mpi-pool,inline-request", "continuation,inline-request", "mpix,inline-request"}) {
        expect_pauses_while_nothing_arrives([&](MPI_Request request) { receive(pools, request, mode); });
    }
}

TEST_F(pools_progress, no_thread_runs_while_nothing_is_outstanding) {
    after_receive("continuation,mpi-pool,inline-request", [] { return 0; });
    const auto used_in_half_a_second = [] { // of the processor
        const std::clock_t before = std::clock();
        std::this_thread::sleep_for(milliseconds(500));
        return static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    };
    int tries = 0; // the threads yield for a while before they sleep
    while (tries < 20 && used_in_half_a_second() >= 0.1) {
        ++tries;
    }
    EXPECT_LT(tries, 20);
}

} // namespace
