// SPDX-License-Identifier: BSD-3-Clause
// task, as_awaitable [exec.task], [exec.as.awaitable]
#include <coroutine>

#include "support.hpp"

namespace {

static_assert(ex::sender<ex::task<int>> && ex::sender<ex::task<void>>);
static_assert(ex::sender_in<ex::task<int>, decltype(on_scheduler(ex::inline_scheduler()))>);

ex::task<int> add_one(int i) {
    co_return i + co_await ex::just(1);
}
ex::task<int> sum_up_to(int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) {
        sum += co_await add_one(i);
    }
    co_return sum;
}
ex::task<void> fail() {
    co_await ex::just();
    raise("task");
}

TEST(Task, awaits_senders_and_tasks) {
    auto [sum] = ex::sync_wait(sum_up_to(10)).value();
    EXPECT_EQ(sum, 55);
}

TEST(Task, is_lazy) {
    bool ran = false;
    auto body = [](bool &flag) -> ex::task<void> {
        flag = true;
        co_return;
    };
    auto task = body(ran);
    EXPECT_FALSE(ran);
    ex::sync_wait(std::move(task));
    EXPECT_TRUE(ran);
}

TEST(Task, one_that_is_never_started_destroys_its_parameters) {
    auto body = [](counted) -> ex::task<void> { co_return; };
    { auto task = body(counted()); }
    EXPECT_EQ(counted::alive, 0);
}

TEST(Task, an_exception_reaches_the_waiting_task) {
    EXPECT_THROW(ex::sync_wait(fail()), std::runtime_error);
    auto catches = []() -> ex::task<std::string> {
        try {
            co_await fail();
        } catch (const std::runtime_error &error) {
            co_return error.what();
        }
        co_return "nothing";
    };
    auto [text] = ex::sync_wait(catches()).value();
    EXPECT_EQ(text, "task");
}

TEST(Task, an_error_of_another_type_is_thrown_unchanged) {
    auto body = []() -> ex::task<int> {
        try {
            co_await (ex::just() | ex::let_value([] { return ex::just_error(std::string("text")); }) |
                      ex::let_value([] { return ex::just(); }));
        } catch (const std::string &text) {
            co_return static_cast<int>(text.size());
        }
        co_return 0;
    };
    auto [size] = ex::sync_wait(body()).value();
    EXPECT_EQ(size, 4);
}

TEST(Task, several_values_are_a_tuple) {
    auto body = []() -> ex::task<int> {
        auto [a, b] = co_await ex::just(1, move_only(2));
        co_return a + b.value;
    };
    auto [three] = ex::sync_wait(body()).value();
    EXPECT_EQ(three, 3);
}

TEST(Task, is_stopped_with_the_awaited_sender_and_destroys_its_locals) {
    int after = 0;
    auto inner = [](int &count) -> ex::task<void> {
        const counted local;
        co_await ex::just_stopped();
        ++count;
    };
    auto outer = [&](int &count) -> ex::task<void> {
        const counted local;
        co_await inner(count);
        ++count;
    };
    EXPECT_FALSE(ex::sync_wait(outer(after)).has_value());
    EXPECT_EQ(after, 0);
    EXPECT_EQ(counted::alive, 0);
    auto [text] = ex::sync_wait(outer(after) | ex::then([] { return 1; }) | ex::upon_stopped([] { return 2; })).value();
    EXPECT_EQ(text, 2);
}

TEST(Task, a_later_stop_ends_it_too) {
    pending_list list;
    record got;
    {
        auto body = [](pending_list &pending) -> ex::task<void> {
            const counted local;
            co_await pending_sender{&pending};
        };
        auto operation = ex::connect(body(list), recording{&got, on_scheduler(ex::inline_scheduler())});
        ex::start(operation);
        EXPECT_EQ(counted::alive, 1);
        list.stop();
        EXPECT_EQ(got.stopped, 1);
    }
    EXPECT_EQ(counted::alive, 0);
}

TEST(Task, receives_a_stop_request) {
    ex::inplace_stop_source source;
    auto inner = []() -> ex::task<bool> {
        auto token = co_await ex::read_env(ex::get_stop_token);
        co_return token.stop_requested();
    };
    auto outer = [&]() -> ex::task<bool> { co_return co_await inner(); };
    for (const bool requested : {false, true}) {
        if (requested) {
            source.request_stop();
        }
        auto [seen] = ex::sync_wait(ex::write_env(outer(), ex::prop{ex::get_stop_token, source.get_token()})).value();
        EXPECT_EQ(seen, requested);
    }
}

#if THENCE_EXECUTION_IS_THENCE // tasks of other implementations return to their scheduler, and a loop may use stack
TEST(Task, continues_on_the_thread_of_the_completion) {
    loop_thread other;
    auto body = [](auto scheduler) -> ex::task<bool> {
        const auto before = this_thread();
        co_await ex::schedule(scheduler);
        co_return this_thread() != before;
    };
    for (int i = 0; i < 100; ++i) {
        auto [moved] = ex::sync_wait(body(other.scheduler())).value();
        ASSERT_TRUE(moved);
    }
}

TEST(Task, a_long_loop_of_senders_that_complete_at_once_uses_no_stack) {
    auto body = []() -> ex::task<long> {
        long sum = 0;
        for (long i = 0; i < 300000; ++i) {
            sum += co_await ex::just(i);
        }
        co_return sum;
    };
    auto [sum] = ex::sync_wait(body()).value();
    EXPECT_EQ(sum, 300000L * 299999 / 2);
}
#endif

TEST(Task, continues_if_it_is_completed_while_another_task_starts_an_operation) {
    pending_list list;
    bool went_on = false;
    record got;
    auto waits = [](pending_list &pending, bool &flag) -> ex::task<void> {
        co_await pending_sender{&pending};
        flag = true;
    };
    auto completes = [](pending_list &pending, bool &flag) -> ex::task<bool> {
        // Completes at once, and completes the other task meanwhile.
        co_return co_await (ex::just() | ex::then([&] {
                                pending.complete();
                                return flag;
                            }));
    };
    auto operation = ex::connect(waits(list, went_on), recording{&got, on_scheduler(ex::inline_scheduler())});
    ex::start(operation);
    auto [seen] = ex::sync_wait(completes(list, went_on)).value();
    EXPECT_TRUE(seen);
    EXPECT_EQ(got.values, 1);
}

TEST(Task, composes_as_a_sender) {
    auto [a, b] =
        ex::sync_wait(ex::when_all(add_one(1), add_one(2) | ex::let_value([](int i) { return add_one(i); }))).value();
    EXPECT_EQ(a, 2);
    EXPECT_EQ(b, 4);
}

TEST(Task, its_value_may_be_move_only_or_a_reference) {
    auto moves = []() -> ex::task<move_only> { co_return move_only(6); };
    auto [value] = ex::sync_wait(moves()).value();
    EXPECT_EQ(value.value, 6);
#if THENCE_EXECUTION_IS_THENCE
    int target = 0;
    auto refers = [](int &i) -> ex::task<int &> { co_return i; };
    auto assigns = [&](int &i) -> ex::task<void> { co_await refers(i) = 4; };
    ex::sync_wait(assigns(target));
    EXPECT_EQ(target, 4);
#endif
}

} // namespace
