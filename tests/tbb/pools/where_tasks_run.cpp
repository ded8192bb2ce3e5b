// SPDX-License-Identifier: BSD-3-Clause
// On which thread the work that follows an operation runs, and where it may wait.
#include "pools_fixture.hpp"

#include <thence/tbb.hpp>

#include <oneapi/tbb/task_arena.h>

#include <string>
#include <thread>
#include <tuple>

namespace {

using where_tasks_run = shared_pools_test;

bool in_the_workers_arena() {
    return tbb::this_task_arena::max_concurrency() == 1 + static_cast<int>(thence::detail::visitor_slots);
}

TEST_F(where_tasks_run, the_mpi_pool_is_one_thread) {
    const auto first = polling_thread();
    EXPECT_NE(first, std::this_thread::get_id());
    EXPECT_EQ(first, polling_thread());
}

TEST_F(where_tasks_run, without_inline_completion_it_is_a_task_of_a_worker_and_may_wait) {
    for (const char *mode : {"continuation,inline-request", "continuation,mpi-pool,inline-request", "new-task",
                             "mpix,mpi-pool", "yield-while", "suspend-resume"}) {
        EXPECT_TRUE(after_receive(mode, [&] {
            pools.sync_wait(ex::schedule(pools.workers())); // would throw inside a callback
            return in_the_workers_arena();
        })) << mode;
    }
}

TEST_F(where_tasks_run, an_inline_completion_runs_inside_the_callback) {
    for (const char *mode :
         {"continuation,inline-request,inline-completion", "mpix,mpi-pool,inline-request,inline-completion"}) {
        EXPECT_TRUE(after_receive(mode, [&] {
            try {
                pools.sync_wait(ex::just());
                return false;
            } catch (const std::logic_error &) {
                return true;
            }
        })) << mode;
    }
}

TEST_F(where_tasks_run, mpix_runs_callbacks_on_the_polling_thread_alone) {
    const auto poller = polling_thread();
    const background_progress others; // runs other continuations, and must not run these
    for (int i = 0; i < 50; ++i) {
        ASSERT_EQ(after_receive("mpix,mpi-pool,inline-request,inline-completion", std::this_thread::get_id), poller);
    }
}

// The other operation has the same mode, and completes during the wait. To wait is an error inside a callback and on
// the thread of the MPI pool.
TEST_F(where_tasks_run, the_work_that_follows_may_wait_for_an_operation_or_gets_an_error) {
    for (const thence::completion_mode &each : all_modes()) {
        const bool may = !(each.inline_completion && !each.bypass) && !(each.bypass && each.mpi_pool);
        pending_receive other(28);
        const std::string mode = to_string(each);
        const bool waited = after_receive(mode.c_str(), [&] {
            other.complete();
            try {
                pools.sync_wait(
                    ex::just() |
                    pools.transform_mpi([&](MPI_Request *r) { *r = std::exchange(other.request, MPI_REQUEST_NULL); },
                                        each));
                return true;
            } catch (const std::logic_error &) {
                return false;
            }
        });
        if (may) { // others may have completed at once, in a task
            EXPECT_TRUE(waited) << mode;
        }
        if (other.request != MPI_REQUEST_NULL) {
            MPI_Wait(&other.request, MPI_STATUS_IGNORE);
        }
    }
}

TEST_F(where_tasks_run, a_bypassed_completion_is_a_task_of_the_workers_on_the_polling_thread) {
    const auto poller = polling_thread();
    const auto [thread, arena, inside] = after_receive("mpix,mpi-pool,inline-request,bypass", [] {
        return std::tuple(std::this_thread::get_id(), in_the_workers_arena(), thence::detail::completing);
    });
    EXPECT_EQ(thread, poller);
    EXPECT_TRUE(arena);
    EXPECT_FALSE(inside);
}

TEST_F(where_tasks_run, the_bypass_scheduler_runs_at_once_where_it_is_started) {
    bool ran = false;
    auto here = std::this_thread::get_id();
    ex::start_detached(ex::schedule(pools.bypass()) | ex::then([&]() noexcept {
                           ran = std::this_thread::get_id() == here && in_the_workers_arena();
                       }));
    EXPECT_TRUE(ran);
}

TEST_F(where_tasks_run, schedulers_compare_and_give_their_completion_scheduler) {
    EXPECT_EQ(pools.workers(), pools.workers());
    EXPECT_NE(pools.workers(), pools.workers(thence::urgency::high));
    EXPECT_NE(pools.workers(), pools.mpi());
    EXPECT_NE(pools.workers(), pools.bypass());
    const auto env = ex::get_env(ex::schedule(pools.mpi()));
    EXPECT_EQ(ex::get_completion_scheduler<ex::set_value_t>(env), pools.mpi());
}

TEST_F(where_tasks_run, a_scheduled_task_that_was_stopped_does_not_run) {
    bool ran = false;
    auto never = ex::schedule(pools.workers()) | ex::then([&] { ran = true; });
    ex::inplace_stop_source source;
    source.request_stop();
    const auto stopped = ex::prop{ex::get_stop_token, source.get_token()};
    EXPECT_FALSE(pools.sync_wait(ex::write_env(std::move(never), stopped)).has_value());
    EXPECT_FALSE(ran);
}

TEST(one_thread, runs_high_priority_first) {
    thence::pools pools({.workers = 0});
    std::string order;
    const auto note = [&](char c, thence::urgency how) {
        return ex::schedule(pools.workers(how)) | ex::then([&order, c] { order += c; });
    };
    pools.sync_wait(ex::when_all(note('a', thence::urgency::normal), note('b', thence::urgency::normal),
                                 note('c', thence::urgency::high)));
    EXPECT_EQ(order, "cab");
}

// A test of yield-while makes MPI's progress, which may run callbacks of other operations: here those of messages from
// another rank. After such a callback, the work that follows the tested operation still must not wait.
TEST(one_thread, no_work_may_wait_in_a_poll_after_a_nested_callback) {
    thence::pools pools({.workers = 0});
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size == 1) {
        GTEST_SKIP() << "a message to oneself arrives outside of polls";
    }
    const int next = (rank + 1) % size;
    const int before = (rank + size - 1) % size;
    const thence::completion_mode in_callback =
        thence::parse_completion_mode("continuation,inline-request,inline-completion");
    const thence::completion_mode in_poll =
        thence::parse_completion_mode("yield-while,inline-request,inline-completion");
    for (int round = 0; round < 100; ++round) {
        int in = 0;
        int first = 0;
        const int out = 7;
        auto polled = ex::just(&in, 1, MPI_INT, 0, 31, MPI_COMM_SELF) |
                      pools.transform_mpi(MPI_Irecv, in_poll, thence::uncancellable) | ex::then([&](auto &&...) {
                          EXPECT_EQ(thence::detail::completing, 1U);
                          EXPECT_THROW(pools.sync_wait(ex::just()), std::logic_error);
                      });
        auto called = ex::just(&first, 1, MPI_INT, before, 32, MPI_COMM_WORLD) |
                      pools.transform_mpi(MPI_Irecv, in_callback) |
                      ex::then([&](auto &&...) { MPI_Send(&out, 1, MPI_INT, 0, 31, MPI_COMM_SELF); });
        auto sent = ex::just(&out, 1, MPI_INT, next, 32, MPI_COMM_WORLD) | pools.transform_mpi(MPI_Isend) |
                    ex::then([](auto &&...) {});
        pools.sync_wait(ex::when_all(std::move(polled), std::move(called), std::move(sent)));
        EXPECT_EQ(in, out);
    }
}

TEST(one_thread, runs_everything) {
    thence::pools pools({.workers = 0});
    pending_receive receive(22);
    const auto here = std::this_thread::get_id();
    const auto [there] = pools
                             .sync_wait(ex::when_all(ex::just() | pools.transform_mpi([&](MPI_Request *r) {
                                 *r = std::exchange(receive.request, MPI_REQUEST_NULL);
                             }) | ex::then([] { return std::this_thread::get_id(); }),
                                                     ex::just() | ex::then([&] { receive.complete(); })))
                             .value();
    EXPECT_EQ(there, here);
}

// There is one worker. While it waits inside a task, it has to resume the task that was suspended before.
TEST_F(where_tasks_run, tasks_that_wait_resume_suspended_tasks) {
    pending_receive first(26);
    pending_receive second(27);
    std::atomic<int> done{0};
    const auto suspended = [&](pending_receive &receive) {
        return ex::just() |
               pools.transform_mpi(
                   [&receive](MPI_Request *r) { *r = std::exchange(receive.request, MPI_REQUEST_NULL); },
                   thence::parse_completion_mode("suspend-resume,inline-request")) |
               ex::then([&] { ++done; });
    };
    ex::counting_scope scope;
    ex::spawn(suspended(first) | ex::upon_error([](const std::exception_ptr &) noexcept { ADD_FAILURE(); }),
              scope.get_token());
    ex::spawn(ex::schedule(pools.workers()) | ex::then([&]() noexcept {
                  second.complete();
                  pools.sync_wait(suspended(second)); // in a task, on the only worker
                  first.complete();
                  pools.work_until([&] { return done.load() == 2; }); // the first one is resumed in this call
              }),
              scope.get_token());
    while (done.load() != 2) {
        std::this_thread::yield();
    }
    pools.sync_wait(scope.join());
}

} // namespace
