// SPDX-License-Identifier: BSD-3-Clause
// Awaitables as senders, and senders in coroutines of the user [exec.awaitable], [exec.with.awaitable.senders]
#include <coroutine>
#include <optional>

#include "support.hpp"

namespace {

/** An awaiter that the test resumes. */
struct event {
    std::coroutine_handle<> waiting;
    void (*stop)(void *) = nullptr;
    int value = 0;

    struct awaiter {
        event *self;
        bool await_ready() const noexcept { return false; }
        template <class Promise> void await_suspend(std::coroutine_handle<Promise> handle) noexcept {
            self->waiting = handle;
            self->stop = [](void *address) {
                std::coroutine_handle<Promise>::from_address(address).promise().unhandled_stopped().resume();
            };
        }
        int await_resume() const {
            if (self->value < 0) {
                raise("event");
            }
            return self->value;
        }
    };
    awaiter operator co_await() noexcept { return {this}; }
    void fire(int v) {
        value = v;
        waiting.resume();
    }
};
/** An awaitable. It is copyable, unlike a temporary awaiter. */
struct event_ref {
    event *self;
    event::awaiter operator co_await() const noexcept { return {self}; }
};

static_assert(ex::sender<event_ref>);
static_assert(completes_with<event_ref, ex::set_value_t(int), throws, ex::set_stopped_t()>);

TEST(Awaitable, sends_what_co_await_returns) {
    event e;
    record got;
    int seen = 0;
    auto operation = ex::connect(ex::then(event_ref{&e}, [&](int i) noexcept { seen = i; }), recording{&got});
    ex::start(operation);
    EXPECT_EQ(got.completions(), 0);
    e.fire(8);
    EXPECT_EQ(seen, 8);
    EXPECT_EQ(got.values, 1);
}

TEST(Awaitable, sends_what_co_await_throws_as_an_error) {
    event e;
    record got;
    auto operation = ex::connect(event_ref{&e}, recording{&got});
    ex::start(operation);
    e.fire(-1);
    EXPECT_EQ(got.errors, 1);
    EXPECT_EQ(got.completions(), 1);
}

TEST(Awaitable, can_complete_as_stopped) {
    event e;
    record got;
    auto operation = ex::connect(event_ref{&e}, recording{&got});
    ex::start(operation);
    e.stop(e.waiting.address());
    EXPECT_EQ(got.stopped, 1);
    EXPECT_EQ(got.completions(), 1);
}

TEST(Awaitable, can_be_awaited_in_a_task_beside_senders) {
    event e;
    record got;
    int seen = 0;
    auto body = [](event &awaited, int &result) -> ex::task<void> {
        result = co_await event_ref{&awaited} + co_await ex::just(1);
    };
    auto operation = ex::connect(body(e, seen), recording{&got, on_scheduler(ex::inline_scheduler())});
    ex::start(operation);
    e.fire(4);
    EXPECT_EQ(seen, 5);
    EXPECT_EQ(got.values, 1);
}

/** A user's coroutine type that can await senders. It starts at once and stores its result. */
struct own_coroutine {
    struct promise_type : ex::with_awaitable_senders<promise_type> {
        std::optional<int> result;
        bool stopped = false;
        own_coroutine get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void unhandled_exception() noexcept { result = -1; }
        void return_value(int i) noexcept { result = i; }
        std::coroutine_handle<> unhandled_stopped() noexcept {
            stopped = true;
            return std::noop_coroutine();
        }
    };
    std::coroutine_handle<promise_type> handle;
    own_coroutine(std::coroutine_handle<promise_type> h) : handle(h) {}
    own_coroutine(own_coroutine &&other) noexcept : handle(std::exchange(other.handle, {})) {}
    ~own_coroutine() {
        if (handle) {
            handle.destroy();
        }
    }
};

TEST(WithAwaitableSenders, lets_a_coroutine_await_senders) {
    auto body = []() -> own_coroutine {
        co_return co_await ex::just(2) + co_await (ex::just(3) | ex::then([](int i) { return 2 * i; }));
    };
    const auto coroutine = body();
    EXPECT_EQ(coroutine.handle.promise().result, 8);
}

TEST(WithAwaitableSenders, throws_errors_in_the_coroutine) {
    auto body = []() -> own_coroutine {
        co_await (ex::just() | ex::then([] { raise("x"); }));
        co_return 1;
    };
    const auto coroutine = body();
    EXPECT_EQ(coroutine.handle.promise().result, -1);
}

TEST(WithAwaitableSenders, calls_unhandled_stopped_when_a_sender_is_stopped) {
    auto body = []() -> own_coroutine {
        co_await ex::just_stopped();
        co_return 1;
    };
    const auto coroutine = body();
    EXPECT_TRUE(coroutine.handle.promise().stopped);
    EXPECT_FALSE(coroutine.handle.promise().result.has_value());
}

} // namespace
