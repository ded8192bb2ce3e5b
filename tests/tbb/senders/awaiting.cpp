// SPDX-License-Identifier: BSD-3-Clause
// A coroutine that awaits an operation is resumed once, with its values or its error. If the operation is stopped, the
// coroutine ends.
#include "support.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

namespace {

using namespace sender_tests;

class awaiting : public senders {};

// Sets a flag when it is destroyed.
struct local {
    int *alive;
    explicit local(int &count) : alive(&count) { ++count; }
    local(const local &) = delete;
    ~local() { --*alive; }
};

int complete_at_once(MPI_Request *request) {
    *request = world.start();
    world.complete(*request);
    return MPI_SUCCESS;
}

TEST_P(awaiting, gives_the_values_and_the_status) {
    ticket t;
    int sum = 0;
    ending end;
    auto body = [](ticket &where, int &result) -> ex::task<> {
        auto [number, pointer, status] =
            co_await (ex::just(3, std::make_unique<int>(4)) | thence::transform_mpi(
                                                                  [&](int &i, std::unique_ptr<int> &p, MPI_Request *r) {
                                                                      ++i;
                                                                      ++*p;
                                                                      return start_one{&where}(r);
                                                                  },
                                                                  thence::with_status));
        result = number + *pointer + status.MPI_SOURCE;
    };
    auto operation = ex::connect(body(t, sum), receiver{&end});
    ex::start(operation);
    let_run();
    EXPECT_EQ(end.all(), 0);
    world.complete(t, {30});
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
    EXPECT_EQ(sum, 39);
}

TEST_P(awaiting, gives_one_value_without_a_tuple_or_nothing) {
    ending end;
    int got = 0;
    auto body = [](int &result) -> ex::task<> {
        static_assert(std::is_void_v<decltype(ex::as_awaitable(ex::just() | thence::transform_mpi(complete_at_once),
                                                               std::declval<ex::task<>::promise_type &>())
                                                  .await_resume())>);
        co_await (ex::just() | thence::transform_mpi(complete_at_once));
        result = co_await (ex::just(7) | thence::transform_mpi([](int, MPI_Request *r) { complete_at_once(r); }));
    };
    auto operation = ex::connect(body(got), receiver{&end});
    ex::start(operation);
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
    EXPECT_EQ(got, 7);
}

TEST_P(awaiting, errors_are_thrown_by_co_await) {
    ticket t;
    ending end;
    int caught = 0;
    auto body = [](ticket &where, int &count) -> ex::task<> {
        try {
            co_await (ex::just() | thence::transform_mpi([](MPI_Request *) { return MPI_ERR_RANK; }));
        } catch (const thence::mpi_error &error) {
            count += error.where() == thence::mpi_error::origin::call && error.error_class() == MPI_ERR_RANK ? 1 : 0;
        }
        try {
            co_await (ex::just(1) |
                      thence::transform_mpi([](int, MPI_Request *) { throw std::runtime_error("call"); }));
        } catch (const std::runtime_error &error) {
            count += error.what() == std::string("call") ? 1 : 0;
        }
        co_await one(where);
    };
    auto operation = ex::connect(body(t, caught), receiver{&end});
    ex::start(operation);
    EXPECT_EQ(caught, 2);
    world.complete(t, {.error = MPI_ERR_TRUNCATE});
    EXPECT_TRUE(eventually([&] { return end.errors == 1; }));
    EXPECT_EQ(end.completion_error(), MPI_ERR_TRUNCATE);
    EXPECT_EQ(end.all(), 1);
    reported();
}

TEST_P(awaiting, the_error_of_a_group_whose_call_fails_is_thrown_after_its_operations_are_complete) {
    ticket t;
    ending end;
    ex::inplace_stop_source stop;
    auto body = [](ticket &where) -> ex::task<> {
        co_await (ex::just() | thence::transform_mpi([&](thence::requests<2> group) {
                      start_one{&where}(&group[0]);
                      return MPI_ERR_RANK;
                  }));
    };
    world.cancelling = on_cancel::ignore;
    for (const bool stoppable_too : {false, true}) {
        ending ended;
        auto run = [&](auto to) {
            auto operation = ex::connect(body(t), to);
            ex::start(operation);
            let_run();
            EXPECT_EQ(ended.all(), 0);
            world.complete(t);
            EXPECT_TRUE(eventually([&] { return ended.errors == 1; }));
            EXPECT_EQ(ended.call_error(), MPI_ERR_RANK);
        };
        stoppable_too ? run(receiver{&ended, stop.get_token()}) : run(receiver{&ended, ex::inplace_stop_token()});
    }
}

TEST_P(awaiting, operations_that_complete_at_once_use_no_stack) {
    ending end;
    long count = 0;
    auto body = [](long &awaited) -> ex::task<> {
        for (int i = 0; i < 200000; ++i) {
            co_await (ex::just() | thence::transform_mpi(complete_at_once));
            ++awaited;
        }
    };
    auto operation = ex::connect(body(count), receiver{&end});
    ex::start(operation);
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
    EXPECT_EQ(count, 200000);
}

TEST_P(awaiting, a_stop_request_before_in_or_after_the_call_ends_it) {
    for (const int when : {0, 1, 2}) {
        ticket t;
        ending end;
        int alive = 0;
        ex::inplace_stop_source stop;
        auto body = [](ticket &where, int &objects, ex::inplace_stop_source *in_call) -> ex::task<> {
            const local object(objects);
            co_await (ex::just() | thence::transform_mpi([&](MPI_Request *r) {
                          if (in_call != nullptr) {
                              in_call->request_stop();
                          }
                          return start_one{&where}(r);
                      }));
            ADD_FAILURE() << "it was resumed";
        };
        auto operation = ex::connect(body(t, alive, when == 1 ? &stop : nullptr), receiver{&end, stop.get_token()});
        if (when == 0) {
            stop.request_stop();
        }
        ex::start(operation);
        if (when == 2) {
            let_run();
            EXPECT_EQ(alive, 1);
            stop.request_stop();
        }
        EXPECT_TRUE(eventually([&] { return end.stops == 1; }));
        EXPECT_EQ(end.all(), 1);
        EXPECT_EQ(t.q == nullptr, when == 0) << "whether it was started";
    }
}

TEST_P(awaiting, an_operation_that_cannot_be_cancelled_completes_after_a_stop_request) {
    world.cancelling = on_cancel::ignore;
    ticket t;
    ending end;
    ex::inplace_stop_source stop;
    auto body = [](ticket &where) -> ex::task<> { co_await one(where); };
    auto operation = ex::connect(body(t), receiver{&end, stop.get_token()});
    ex::start(operation);
    stop.request_stop();
    let_run();
    EXPECT_EQ(end.all(), 0);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
}

TEST_P(awaiting, a_stored_sender_can_be_awaited_again) {
    ending end;
    auto body = []() -> ex::task<> {
        auto sender = ex::just(std::string("a")) | thence::transform_mpi([](std::string &s, MPI_Request *r) {
                          s += "b";
                          return complete_at_once(r);
                      });
        EXPECT_EQ(co_await sender, "ab");
        EXPECT_EQ(co_await sender, "ab");
        EXPECT_EQ(co_await std::move(sender), "ab");
    };
    auto operation = ex::connect(body(), receiver{&end});
    ex::start(operation);
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
}

#if defined(THENCE_EXECUTION_IS_THENCE)
// Counts how often a value is moved.
struct moved {
    int *count;
    explicit moved(int &c) : count(&c) {}
    moved(moved &&other) noexcept : count(other.count) { ++*count; }
    moved &operator=(moved &&) = delete;
    ~moved() = default;
};

TEST_P(awaiting, values_stay_in_the_sender_until_completion) {
    ending end;
    auto body = []() -> ex::task<> {
        int moves = 0;
        int moves_before_the_call = -1;
        [[maybe_unused]] const moved got =
            co_await (ex::just(moved(moves)) | thence::transform_mpi([&](moved &, MPI_Request *r) {
                          moves_before_the_call = moves;
                          return complete_at_once(r);
                      }));
        EXPECT_EQ(moves_before_the_call, 2) << "into just() and into the sender, but not into the operation";
        EXPECT_EQ(moves, 3);
    };
    auto operation = ex::connect(body(), receiver{&end});
    ex::start(operation);
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
}
#endif

// Another thread completes the operation that the coroutine has just started, and resumes the coroutine while
// await_suspend() still runs on this thread.
TEST_P(awaiting, the_operation_may_complete_at_once_on_another_thread) {
    const auto end_time = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
    std::atomic<ticket *> started{nullptr};
    std::atomic<bool> over{false};
    std::thread completer([&] {
        while (!over) {
            if (ticket *t = started.exchange(nullptr); t != nullptr) {
                world.complete(*t, {5});
                thence_progress();
            }
        }
    });
    long rounds = 0;
    auto body = [](std::atomic<ticket *> &to_completer) -> ex::task<long> {
        long sum = 0;
        for (int i = 0; i < 4; ++i) {
            ticket t;
            MPI_Status status = co_await (ex::just() | thence::transform_mpi(
                                                           [&](MPI_Request *r) {
                                                               start_one{&t}(r);
                                                               to_completer = &t;
                                                           },
                                                           thence::with_status));
            sum += status.MPI_SOURCE;
        }
        co_return sum;
    };
    while (std::chrono::steady_clock::now() < end_time) {
        ending end;
        long sum = 0;
        auto operation = ex::connect(body(started) | ex::then([&](long s) { sum = s; }), receiver{&end});
        ex::start(operation);
        ASSERT_TRUE(eventually([&] { return end.all() == 1; }));
        ASSERT_EQ(end.values, 1);
        ASSERT_EQ(sum, 20);
        ++rounds;
    }
    over = true;
    completer.join();
    EXPECT_GT(rounds, 0);
}

THENCE_RULES(awaiting);

} // namespace
