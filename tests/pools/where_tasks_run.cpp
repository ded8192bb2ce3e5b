// SPDX-License-Identifier: BSD-3-Clause
// Where what follows an operation runs, who polls, and that nothing a program does in its tasks stops progress.
#include "all_modes.hpp"

#include <thence/tbb.hpp>
#include <thence/timeout.hpp>

#include <oneapi/tbb/task_arena.h>

#include <cstdlib>
#include <ctime>
#include <thread>

namespace {

using std::chrono::milliseconds;

class where_tasks_run : public testing::Test {
protected:
    thence::pools &pools = shared_pools();
    errors_return returned;

    std::thread::id polling_thread() {
        return std::get<0>(
            pools.sync_wait(ex::schedule(pools.mpi()) | ex::then([] { return std::this_thread::get_id(); })).value());
    }
    // The value of `look` in the continuation of a receive that completes while nothing but its pool makes progress.
    template <class Look> auto after_receive(const char *mode, Look look) {
        pending_receive receive(21);
        using result = std::invoke_result_t<Look>;
        std::optional<result> found;
        std::atomic<bool> done{false};
        auto operation =
            ex::just() |
            pools.transform_mpi([&](MPI_Request *r) { *r = std::exchange(receive.request, MPI_REQUEST_NULL); },
                                thence::parse_completion_mode(mode), thence::uncancellable) |
            ex::then([&]() noexcept {
                found = look();
                done = true;
            }) |
            ex::upon_error([](const std::exception_ptr &) noexcept { ADD_FAILURE(); });
        ex::counting_scope scope;
        ex::spawn(std::move(operation), scope.get_token());
        receive.complete();
        while (!done.load())
            std::this_thread::yield();
        pools.sync_wait(scope.join());
        return *found;
    }
};

bool in_the_workers_arena() {
    return tbb::this_task_arena::max_concurrency() == 1 + static_cast<int>(thence::detail::visitor_slots);
}

TEST_F(where_tasks_run, the_mpi_pool_is_one_thread) {
    const auto first = polling_thread();
    EXPECT_NE(first, std::this_thread::get_id());
    EXPECT_EQ(first, polling_thread());
}

TEST_F(where_tasks_run, a_transferred_completion_is_a_task_of_a_worker_that_may_wait) {
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
         {"continuation,inline-request,inline-completion", "mpix,mpi-pool,inline-request,inline-completion"})
        EXPECT_TRUE(after_receive(mode, [&] {
            try {
                pools.sync_wait(ex::just());
                return false;
            } catch (const std::logic_error &) {
                return true;
            }
        })) << mode;
}

TEST_F(where_tasks_run, mpix_runs_callbacks_on_the_polling_thread_alone) {
    const auto poller = polling_thread();
    const background_progress others; // run other continuations, and must not run these
    for (int i = 0; i < 50; ++i)
        ASSERT_EQ(after_receive("mpix,mpi-pool,inline-request,inline-completion", std::this_thread::get_id), poller);
}

// Of an operation of its own mode, which comes while it waits. Not inside a callback, and not on the polling thread.
TEST_F(where_tasks_run, what_follows_may_wait_for_an_operation_or_is_told_that_it_may_not) {
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
        if (other.request != MPI_REQUEST_NULL)
            MPI_Wait(&other.request, MPI_STATUS_IGNORE);
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

TEST_F(where_tasks_run, schedulers_compare_and_tell_where_they_complete) {
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

TEST(alone, high_priority_goes_first) {
    thence::pools pools({.workers = 0});
    std::string order;
    const auto note = [&](char c, thence::urgency how) {
        return ex::schedule(pools.workers(how)) | ex::then([&order, c] { order += c; });
    };
    pools.sync_wait(ex::when_all(note('a', thence::urgency::normal), note('b', thence::urgency::normal),
                                 note('c', thence::urgency::high)));
    EXPECT_EQ(order, "cab");
}

// The poll of yield-while may run callbacks of other operations, by way of MPI's progress: here those of messages from
// another rank. It stays a place where nothing may wait.
TEST(alone, a_callback_in_a_poll_leaves_it_a_poll) {
    thence::pools pools({.workers = 0});
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size == 1)
        GTEST_SKIP() << "a message to oneself comes outside of polls";
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

TEST(alone, one_thread_does_everything) {
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

TEST_F(where_tasks_run, deadlines_are_kept) {
    pending_receive never(25);
    EXPECT_THROW(pools.sync_wait(ex::just() | pools.transform_mpi([&](MPI_Request *r) {
        *r = std::exchange(never.request, MPI_REQUEST_NULL);
    }) | thence::timeout(milliseconds(5))),
                 thence::timed_out);
    int room = 0;
    MPI_Irecv(&room, 1, MPI_INT, 0, 25, MPI_COMM_SELF, &never.request); // the message that comes finds another receive
    never.complete();
    MPI_Wait(&never.request, MPI_STATUS_IGNORE);
}

// With one worker: where it waits inside of a task, what was suspended before has to go on there.
TEST_F(where_tasks_run, tasks_that_wait_let_suspended_ones_go_on) {
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
                  pools.work_until([&] { return done.load() == 2; }); // the first one goes on below
              }),
              scope.get_token());
    while (done.load() != 2)
        std::this_thread::yield();
    pools.sync_wait(scope.join());
}

// The waits below end only by progress that the pools make although their threads are busy.

TEST_F(where_tasks_run, a_continuation_that_blocks_the_polling_thread_does_not_stop_progress) {
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
        while (!other_done.load())
            std::this_thread::yield();
        return true;
    }));
    pools.sync_wait(scope.join());
}

TEST_F(where_tasks_run, a_completion_that_suspends_the_polling_thread_does_not_stop_progress) {
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

TEST_F(where_tasks_run, workers_that_compute_do_not_stop_progress) {
    std::atomic<bool> busy{false};
    std::atomic<bool> received{false};
    ex::counting_scope scope;
    ex::spawn(ex::schedule(pools.workers()) | ex::then([&]() noexcept {
                  busy = true;
                  while (!received.load())
                      std::this_thread::yield();
              }),
              scope.get_token());
    while (!busy.load())
        std::this_thread::yield();
    after_receive("continuation,inline-request,inline-completion", [&] {
        received = true;
        return 0;
    });
    pools.sync_wait(scope.join());
}

// What the pools wait for need not be their own: thence/mpi.hpp and thence::transform_mpi know nothing of them.

TEST_F(where_tasks_run, a_thread_that_waits_makes_progress_for_operations_that_are_not_the_pools) {
    for (int round = 0; round < 3; ++round) {
        if (rank() == 1)
            std::this_thread::sleep_for(milliseconds(20)); // the others have nothing but their wait then
        pools.sync_wait(ex::just(MPI_COMM_WORLD) | thence::transform_mpi(MPI_Ibarrier) |
                        ex::continues_on(pools.workers()) | ex::then([](MPI_Comm) {}));
        const auto in_coroutine = [](thence::pools &with) -> ex::task<> {
            co_await ex::schedule(with.workers());
            co_await (ex::just(MPI_COMM_WORLD) | thence::transform_mpi(MPI_Ibarrier) |
                      ex::continues_on(with.workers()) | ex::then([](MPI_Comm) {}));
        };
        if (rank() == 1)
            std::this_thread::sleep_for(milliseconds(20));
        pools.sync_wait(in_coroutine(pools));
        bool done = false;
        ex::counting_scope scope;
        if (rank() == 1)
            std::this_thread::sleep_for(milliseconds(20));
        ex::spawn(ex::just(MPI_COMM_WORLD) | thence::transform_mpi(MPI_Ibarrier) | ex::then([&](MPI_Comm) noexcept {
                      done = true;
                  }) | ex::upon_error([](const std::exception_ptr &) noexcept { ADD_FAILURE(); }),
                  scope.get_token());
        pools.work_until([&] { return done; });
        pools.sync_wait(scope.join());
    }
}

// They have a continuation request of their own, whatever the method: testing that of mpix would not find them.
TEST_F(where_tasks_run, operations_that_can_be_stopped_are_polled_for_in_every_mode) {
    const ex::inplace_stop_source stop;
    const auto before = std::chrono::steady_clock::now();
    for (const thence::completion_mode &each : all_modes()) {
        if (rank() == 1)
            std::this_thread::sleep_for(milliseconds(1));
        pools.sync_wait(ex::write_env(ex::just(MPI_COMM_WORLD) | pools.transform_mpi(MPI_Ibarrier, each) |
                                          ex::then([](MPI_Comm) {}),
                                      ex::prop{ex::get_stop_token, stop.get_token()}));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10)) << "nobody polled";
}

/** A receive that only its deadline ends; what is sent to it later finds another one. */
auto deadline_of(pending_receive &never) {
    return ex::just() |
           thence::transform_mpi([&](MPI_Request *r) { *r = std::exchange(never.request, MPI_REQUEST_NULL); }) |
           thence::timeout(milliseconds(5));
}
void receive_after_all(pending_receive &never, int tag) {
    int room = 0;
    MPI_Irecv(&room, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &never.request);
    never.complete();
    MPI_Wait(&never.request, MPI_STATUS_IGNORE);
}

TEST_F(where_tasks_run, deadlines_of_operations_that_are_not_the_pools_are_kept) {
    pending_receive never(29);
    EXPECT_THROW(pools.sync_wait(deadline_of(never)), thence::timed_out);
    receive_after_all(never, 29);
}

TEST(alone, a_thread_that_waits_and_computes_does_not_stop_progress_for_others) {
    thence::pools pools({.workers = 0});
    pending_receive never(30);
    std::atomic<bool> over{false};
    pools.sync_wait(
        ex::when_all(ex::schedule(pools.workers()) | ex::then([&] {
                         while (!over.load())
                             std::this_thread::yield();
                     }),
                     deadline_of(never) | ex::upon_error([&](const std::exception_ptr &) { over = true; })));
    receive_after_all(never, 30);
}

TEST_F(where_tasks_run, nobody_is_busy_while_nothing_is_outstanding) {
    after_receive("continuation,mpi-pool,inline-request", [] { return 0; });
    const auto used_in_half_a_second = [] { // of the processor
        const std::clock_t before = std::clock();
        std::this_thread::sleep_for(milliseconds(500));
        return static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    };
    int tries = 0; // they stay awake for a moment
    while (tries < 20 && used_in_half_a_second() >= 0.1)
        ++tries;
    EXPECT_LT(tries, 20);
}

TEST(mode, is_read_as_it_is_written) {
    for (const thence::completion_mode &each : all_modes())
        EXPECT_EQ(thence::parse_completion_mode(to_string(each)), each);
}

TEST(mode, says_what_it_does_not_understand) {
    for (const char *text : {"", "fast", "mpi-pool", "continuation,fast", "continuation,mpix", "continuation,"})
        try {
            thence::parse_completion_mode(text);
            if (std::string(text) != "continuation,")
                ADD_FAILURE() << text;
        } catch (const std::invalid_argument &error) {
            EXPECT_NE(std::string(error.what()).find("method"), std::string::npos) << error.what();
        }
}

TEST(mode, comes_from_the_environment_from_the_pools_or_from_the_call) {
    setenv("THENCE_POOLS_MODE", "mpix,mpi-pool", 1);
    EXPECT_EQ(thence::pools({.workers = 1}).mode(), thence::parse_completion_mode("mpix,mpi-pool"));
    EXPECT_EQ(thence::pools({.workers = 1, .mode = thence::parse_completion_mode("new-task")}).mode(),
              thence::parse_completion_mode("new-task"));
    setenv("THENCE_POOLS_MODE", "slow", 1);
    EXPECT_THROW(thence::pools(), std::invalid_argument);
    unsetenv("THENCE_POOLS_MODE");
    EXPECT_EQ(thence::pools().mode(), thence::completion_mode{});
}

TEST(options, that_cannot_be_are_refused) {
    EXPECT_THROW(thence::pools({.workers = -1}), std::invalid_argument);
    EXPECT_THROW(thence::pools({.workers = 0, .mode = thence::parse_completion_mode("suspend-resume")}),
                 std::invalid_argument);
    thence::pools pools({.workers = 0});
    EXPECT_THROW(pools.sync_wait(ex::just() | pools.transform_mpi([](MPI_Request *) {},
                                                                  thence::parse_completion_mode("suspend-resume"))),
                 std::invalid_argument);
}

} // namespace
