// SPDX-License-Identifier: BSD-3-Clause
// thence::sync_wait makes progress, and throws where it could never return. Scopes wait for operations in flight.
#include "sleeps.hpp"
#include "support.hpp"

#include <system_error>

#if defined(THENCE_EXECUTION_IS_THENCE)
#include <thence/exec/error_code.hpp>
#endif

namespace {

using namespace sender_tests;

class waiting : public senders {};

// Completes the operation in MPI's own progress, so some thread has to make progress.
auto completed_by_progress() {
    return ex::just(3) | thence::transform_mpi([](int, MPI_Request *r) {
               *r = world.start();
               world.complete_in_progress(*r);
           });
}

TEST_P(waiting, makes_progress) {
    auto [three] = thence::sync_wait(completed_by_progress()).value();
    EXPECT_EQ(three, 3);
}

TEST_P(waiting, throws_the_error) {
    EXPECT_THROW(thence::sync_wait(ex::just() | thence::transform_mpi([](MPI_Request *) { return MPI_ERR_RANK; })),
                 thence::mpi_error);
}

// Completes with a std::error_code.
struct fails_with_code {
    using sender_concept = ex::sender_t;
    using completion_signatures = ex::completion_signatures<ex::set_value_t(), ex::set_error_t(std::error_code)>;
    template <class R> struct operation {
        using operation_state_concept = ex::operation_state_t;
        R receiver;
        void start() noexcept { ex::set_error(std::move(receiver), std::make_error_code(std::errc::timed_out)); }
    };
    template <ex::receiver R> auto connect(R r) const { return operation<R>{std::move(r)}; }
};

TEST_P(waiting, throws_an_error_code_as_an_exception) {
    try {
        thence::sync_wait(fails_with_code());
        ADD_FAILURE();
    } catch (const std::system_error &error) {
        EXPECT_EQ(error.code(), std::errc::timed_out);
    }
}

TEST_P(waiting, is_empty_when_stopped) {
    auto stops = []() -> ex::task<> { co_await ex::just_stopped(); };
    EXPECT_FALSE(thence::sync_wait(stops()).has_value());
}

TEST_P(waiting, runs_work_that_is_scheduled_on_its_thread) {
    const auto here = std::this_thread::get_id();
    auto [same] = thence::sync_wait(ex::read_env(ex::get_scheduler) | ex::let_value([](auto scheduler) {
                                        return completed_by_progress() | ex::continues_on(scheduler) |
                                               ex::then([](int) { return std::this_thread::get_id(); });
                                    }))
                      .value();
    EXPECT_EQ(same, here);
}

TEST_P(waiting, a_task_awaits_operations) {
    auto sum = []() -> ex::task<int> {
        int total = 0;
        for (int i = 0; i < 10; ++i) {
            total += co_await completed_by_progress();
        }
        co_return total;
    };
    auto [total] = thence::sync_wait(sum()).value();
    EXPECT_EQ(total, 30);
}

// Inline work leaves no task for the loop. It has to notice otherwise that a poll has found something.
TEST_P(waiting, does_not_sleep_while_every_poll_finds_something) {
    constexpr int many = 2000;
    int met = 0;
    auto chain = [&]() -> ex::task<> {
        while (++met < many) {
            co_await completed_by_progress();
        }
    };
    const unsigned long before = thence::fake::sleeps_here();
    thence::sync_wait(chain());
    EXPECT_LT(thence::fake::sleeps_here() - before, many / 10);
}

TEST_P(waiting, inside_a_completion_is_refused) {
    ticket t;
    bool refused = false;
    ending end;
    auto operation = ex::connect(one(t) | ex::then([&] {
                                     try {
                                         thence::sync_wait(completed_by_progress());
                                     } catch (const std::logic_error &) {
                                         refused = true;
                                     }
                                 }),
                                 receiver{&end});
    ex::start(operation);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
    EXPECT_TRUE(refused);
    thence::sync_wait(completed_by_progress()); // after the completion
}

// In another implementation, a scope that ended with operations in flight hung.
TEST_P(waiting, join_waits_for_operations_in_flight) {
    ex::counting_scope scope;
    std::atomic<int> done{0};
    for (int i = 0; i < 5; ++i) {
        ex::spawn(completed_by_progress() | ex::then([&](int) noexcept { ++done; }) |
                      ex::upon_error([](auto &&) noexcept {}),
                  scope.get_token());
    }
    thence::sync_wait(scope.join());
    EXPECT_EQ(done, 5);
}

TEST_P(waiting, a_scope_can_stop_operations_in_flight) {
    ex::counting_scope scope;
    ticket tickets[4];
    for (ticket &t : tickets) {
        ex::spawn(one(t) | ex::upon_error([](auto &&) noexcept {}), scope.get_token());
    }
    scope.request_stop();
    thence::sync_wait(scope.join()); // the test does not complete them
    EXPECT_EQ(world.cancel_calls, 4U);
}

THENCE_RULES(waiting);

} // namespace
