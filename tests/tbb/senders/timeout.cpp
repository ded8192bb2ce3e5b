// SPDX-License-Identifier: BSD-3-Clause
// A sender with a deadline completes once: with its own completion if that is first, with timed_out if the deadline has
// stopped it, as stopped if the receiver requested stop before the deadline.
#include "support.hpp"

#include "tbb/senders/timer_heap.hpp"

#include <thence/timeout.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <thread>
#include <vector>

namespace {

using namespace sender_tests;
using namespace std::chrono_literals;

class timeouts : public senders {
protected:
    ex::inplace_stop_source stop;
    ending end;
    ticket t;

    void TearDown() override {
        EXPECT_EQ(thence::run_timers(), false);
        senders::TearDown();
    }
};

bool is_timed_out(const ending &end) {
    try {
        std::rethrow_exception(end.error);
    } catch (const thence::timed_out &) {
        return true;
    } catch (...) {
        return false;
    }
}
struct sends_lvalue {
    using sender_concept = ex::sender_t;
    const std::string *text;
    template <class, class...> static consteval auto get_completion_signatures() {
        return ex::completion_signatures<ex::set_value_t(const std::string &)>();
    }
    template <class R> struct state {
        using operation_state_concept = ex::operation_state_t;
        const std::string *text;
        R r;
        void start() &noexcept { ex::set_value(std::move(r), *text); }
    };
    template <class R> auto connect(R r) const { return state<R>{text, std::move(r)}; }
};

// Waits until a deadline is over, and runs the timers once.
bool run_after(std::chrono::milliseconds time) {
    std::this_thread::sleep_for(time);
    return thence::run_timers();
}

TEST_P(timeouts, a_sender_that_completes_in_time_completes_as_without_a_deadline) {
    int sum = 0;
    auto operation = ex::connect(
        ex::just(3) |
            thence::transform_mpi([&](int, MPI_Request *r) { return start_one{&t}(r); }, thence::with_status) |
            thence::timeout(1h) | ex::then([&](int three, MPI_Status s) { sum = three + s.MPI_SOURCE; }),
        receiver{&end});
    ex::start(operation);
    let_run();
    EXPECT_FALSE(thence::run_timers());
    EXPECT_EQ(end.all(), 0);
    world.complete(t, {4});
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
    EXPECT_EQ(sum, 7);
    EXPECT_EQ(world.cancel_calls, 0U);
}

TEST_P(timeouts, the_thread_that_runs_the_timers_cancels_a_pending_receive) {
    for (const on_cancel how : {on_cancel::complete_at_once, on_cancel::complete_in_progress}) {
        world.cancelling = how;
        ending e;
        auto operation = ex::connect(thence::timeout(one(t), 1ms), receiver{&e});
        ex::start(operation);
        std::this_thread::sleep_for(2ms);
        let_run();
        EXPECT_EQ(e.all(), 0) << "no thread has run the timers";
        EXPECT_TRUE(thence::run_timers());
        EXPECT_TRUE(eventually([&] { return e.errors == 1; }));
        EXPECT_TRUE(is_timed_out(e));
        EXPECT_EQ(e.all(), 1);
        EXPECT_FALSE(thence::run_timers()) << "a timer runs once";
    }
}

TEST_P(timeouts, an_operation_that_mpi_cannot_cancel_completes_after_its_deadline) {
    world.cancelling = on_cancel::ignore;
    auto operation = ex::connect(one(t, kind::collective) | thence::timeout(1ms), receiver{&end});
    ex::start(operation);
    EXPECT_TRUE(run_after(2ms));
    let_run();
    EXPECT_EQ(end.all(), 0);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
}

TEST_P(timeouts, with_a_duration_of_zero_the_call_is_not_made) {
    for (const auto none : {0ms, -5ms}) {
        ending e;
        auto operation = ex::connect(one(t) | thence::timeout(none), receiver{&e});
        ex::start(operation);
        EXPECT_EQ(e.errors, 1);
        EXPECT_TRUE(is_timed_out(e));
        EXPECT_EQ(t.q, nullptr);
    }
}

TEST_P(timeouts, a_duration_beyond_the_range_of_the_clock_is_no_deadline) {
    auto operation = ex::connect(one(t) | thence::timeout(std::chrono::hours::max()), receiver{&end});
    ex::start(operation);
    EXPECT_FALSE(thence::run_timers());
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
}

TEST_P(timeouts, errors_are_passed_on) {
    auto operation = ex::connect(one(t) | thence::timeout(1h), receiver{&end});
    ex::start(operation);
    world.complete(t, {.error = MPI_ERR_TRUNCATE});
    EXPECT_TRUE(eventually([&] { return end.errors == 1; }));
    EXPECT_EQ(end.completion_error(), MPI_ERR_TRUNCATE);
    reported();
}

TEST_P(timeouts, a_stop_request_of_the_receiver_is_passed_on) {
    auto operation = ex::connect(one(t) | thence::timeout(1h), receiver{&end, stop.get_token()});
    ex::start(operation);
    stop.request_stop();
    EXPECT_TRUE(eventually([&] { return end.stops == 1; }));
    EXPECT_EQ(end.all(), 1);
}

TEST_P(timeouts, a_stop_request_before_the_start_is_passed_on) {
    stop.request_stop();
    auto operation = ex::connect(one(t) | thence::timeout(1h), receiver{&end, stop.get_token()});
    ex::start(operation);
    EXPECT_EQ(end.stops, 1);
    EXPECT_EQ(t.q, nullptr);
}

TEST_P(timeouts, the_first_stop_request_decides) {
    world.cancelling = on_cancel::complete_in_progress;
    for (const bool deadline_first : {true, false}) {
        ex::inplace_stop_source source;
        ending e;
        auto operation = ex::connect(one(t) | thence::timeout(1ms), receiver{&e, source.get_token()});
        ex::start(operation);
        if (deadline_first) {
            EXPECT_TRUE(run_after(2ms));
            source.request_stop();
        } else {
            source.request_stop();
            run_after(2ms);
        }
        EXPECT_TRUE(eventually([&] { return e.all() == 1; }));
        EXPECT_EQ(e.errors == 1, deadline_first);
        EXPECT_EQ(e.stops == 1, !deadline_first);
    }
}

TEST_P(timeouts, the_completion_may_destroy_the_operation) {
    using operation = ex::connect_result_t<decltype(thence::timeout(one(t), 1ms)), receiver<stoppable>>;
    for (const bool deadline : {true, false}) {
        ex::inplace_stop_source source;
        ending e;
        struct made {
            ticket *where;
            ending *to;
            stoppable token;
            operator operation() const { return ex::connect(thence::timeout(one(*where), 1ms), receiver{to, token}); }
        };
        std::optional<operation> room;
        room.emplace(made{&t, &e, source.get_token()});
        e.inside = [&] { room.reset(); };
        ex::start(*room);
        deadline ? static_cast<void>(run_after(2ms)) : static_cast<void>(source.request_stop());
        EXPECT_TRUE(eventually([&] { return e.all() == 1; }));
        EXPECT_FALSE(room.has_value());
    }
}

TEST_P(timeouts, an_inner_deadline_is_an_error_for_the_outer) {
    auto operation = ex::connect(one(t) | thence::timeout(1ms) | thence::timeout(1h), receiver{&end});
    ex::start(operation);
    EXPECT_TRUE(run_after(2ms));
    EXPECT_TRUE(eventually([&] { return end.errors == 1; }));
    EXPECT_TRUE(is_timed_out(end));
    ending other;
    auto second = ex::connect(one(t) | thence::timeout(1h) | thence::timeout(1ms), receiver{&other});
    ex::start(second);
    EXPECT_TRUE(run_after(2ms));
    EXPECT_TRUE(eventually([&] { return other.errors == 1; }));
    EXPECT_TRUE(is_timed_out(other));
}

TEST_P(timeouts, lvalues_are_sent_by_value) {
    const std::string text = "text";
    std::string got;
    auto operation = ex::connect(thence::timeout(sends_lvalue{&text}, 1h) |
                                     ex::then([&](std::string &&value) { got = std::move(value); }),
                                 receiver{&end});
    ex::start(operation);
    EXPECT_EQ(end.values, 1);
    EXPECT_EQ(got, text);
}

TEST_P(timeouts, sync_wait_runs_the_timers) {
    EXPECT_THROW(thence::sync_wait(one(t) | thence::timeout(3ms)), thence::timed_out);
}

TEST_P(timeouts, a_task_continues_after_a_deadline) {
    int tries = 0;
    auto body = [](int &count) -> ex::task<int> {
        for (;;) {
            ticket never;
            try {
                ++count;
                co_await (one(never) | thence::timeout(1ms));
            } catch (const thence::timed_out &) {
                if (count == 3) {
                    co_return count;
                }
            }
        }
    };
    auto [three] = thence::sync_wait(body(tries)).value();
    EXPECT_EQ(three, 3);
    EXPECT_EQ(world.cancel_calls, 3U);
}

TEST_P(timeouts, a_deadline_ends_a_whole_task) {
    int after = 0;
    ticket u;
    auto body = [](ticket &first, ticket &second, int &went_on) -> ex::task<> {
        co_await ex::when_all(one(first), one(second));
        ++went_on;
    };
    EXPECT_THROW(thence::sync_wait(body(t, u, after) | thence::timeout(3ms)), thence::timed_out);
    EXPECT_EQ(after, 0);
    EXPECT_EQ(world.cancel_calls, 2U);
}

// An operation that cannot be cancelled completes late, and `late` is set.
TEST_P(timeouts, set_late_if_a_value_came_late) {
    for (const bool in_time : {true, false}) {
        world.cancelling = on_cancel::ignore;
        ticket asked;
        ending over;
        bool late = in_time;
        auto operation = ex::connect(one(asked) | thence::timeout(in_time ? 1h : 1ms, late), receiver{&over});
        ex::start(operation);
        while (!in_time && world.cancel_calls == 0) {
            thence::run_timers();
        }
        world.complete(asked);
        EXPECT_TRUE(eventually([&] { return over.all() == 1; }));
        EXPECT_EQ(over.values, 1);
        EXPECT_EQ(late, !in_time);
    }
}

TEST_P(timeouts, set_late_if_they_stopped_a_sender) {
    bool late = false;
    EXPECT_THROW(thence::sync_wait(thence::timeout(one(t), 1ms, late)), thence::timed_out);
    EXPECT_TRUE(late);
}

// Compares the heap of timers with a list: timers are set in any order, some are cancelled, the others run when due.
TEST_P(timeouts, many_deadlines_run_in_order) {
    struct entry : thence::detail::timer {
        std::vector<int> *ran = nullptr;
        int number = 0;
        void begin() noexcept override {}
        void run() noexcept override { ran->push_back(number); }
    };
    std::mt19937 random(5);
    for (int round = 0; round < 50; ++round) {
        thence::detail::timer_heap queue;
        std::vector<int> ran;
        std::vector<int> expected;
        std::vector<entry> entries(100);
        std::vector<int> times(100);
        for (int i = 0; i < 100; ++i) {
            times[i] = i;
        }
        std::shuffle(times.begin(), times.end(), random);
        for (int i = 0; i < 100; ++i) {
            entries[i].ran = &ran;
            entries[i].number = times[i];
            queue.set(entries[i], 1 + times[i]); // in the past
            if (random() % 3 == 0) {
                const std::size_t gone = random() % (i + 1);
                queue.cancel(entries[gone]);
                entries[gone].number = -1;
            }
        }
        for (const entry &e : entries) {
            if (e.number >= 0) {
                expected.push_back(e.number);
            }
        }
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(queue.run(), !expected.empty());
        EXPECT_EQ(ran, expected);
        EXPECT_FALSE(queue.run());
    }
}

THENCE_RULES(timeouts);

} // namespace
