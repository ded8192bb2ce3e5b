// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/connect_awaitable.hpp
 *  @brief The operation state of an awaitable: a coroutine that awaits it and completes the receiver with the result.
 *
 *  Completion signatures: set_value_t(result), or set_value_t() for void; set_error_t(std::exception_ptr);
 *  set_stopped_t(), when the awaitable calls `promise.unhandled_stopped()`.
 *
 *  Source: C++26 [exec.connect]. */

// Invariant: the receiver is completed when the coroutine is suspended for the last time. So the receiver may destroy
// the operation state and with it the coroutine's frame.

#include <thence/exec/awaitable.hpp>
#include <thence/exec/completion_signatures.hpp>
#include <thence/exec/operation_state.hpp>

namespace thence::exec::detail {

template <class R> struct connect_promise;

/** Owns the frame of the coroutine. */
template <class R> class [[nodiscard]] connect_operation {
public:
    using operation_state_concept = operation_state_t;
    using promise_type = connect_promise<R>;

    explicit connect_operation(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}
    connect_operation(connect_operation &&other) noexcept : coroutine_(std::exchange(other.coroutine_, {})) {}
    ~connect_operation() {
        if (coroutine_) {
            coroutine_.destroy();
        }
    }
    void start() &noexcept { coroutine_.resume(); }

private:
    std::coroutine_handle<promise_type> coroutine_;
};

/** Suspends the coroutine, then calls `fn`, which may destroy it. */
template <class Fn> struct suspend_and_call {
    Fn fn;
    static constexpr bool await_ready() noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) noexcept { static_cast<Fn &&>(fn)(); }
    [[noreturn]] void await_resume() noexcept { std::terminate(); }
};

template <class R> struct connect_promise {
    R &receiver;

    // The parameters of the coroutine: the awaitable and the receiver.
    explicit connect_promise(auto &, R &r) noexcept : receiver(r) {}
    auto get_return_object() noexcept {
        return connect_operation<R>(std::coroutine_handle<connect_promise>::from_promise(*this));
    }
    static std::suspend_always initial_suspend() noexcept { return {}; }
    [[noreturn]] static std::suspend_always final_suspend() noexcept { std::terminate(); }
    [[noreturn]] static void unhandled_exception() noexcept { std::terminate(); }
    [[noreturn]] static void return_void() noexcept { std::terminate(); }
    template <class Fn> auto yield_value(Fn fn) noexcept { return suspend_and_call<Fn>{static_cast<Fn &&>(fn)}; }
    std::coroutine_handle<> unhandled_stopped() noexcept {
        set_stopped(static_cast<R &&>(receiver));
        return std::noop_coroutine();
    }
    env_of_t<R> get_env() const noexcept { return exec::get_env(receiver); }
    template <class A> decltype(auto) await_transform(A &&awaitable) noexcept {
        if constexpr (has_as_awaitable<A, connect_promise>) {
            return static_cast<A &&>(awaitable).as_awaitable(*this);
        } else {
            return static_cast<A &&>(awaitable);
        }
    }
};

template <class A, class R> connect_operation<R> connect_awaitable_coroutine(A awaitable, R receiver) {
    std::exception_ptr error;
    try {
        if constexpr (std::is_void_v<await_result_t<A>>) {
            co_await static_cast<A &&>(awaitable);
            co_yield [&receiver]() noexcept { set_value(static_cast<R &&>(receiver)); };
        } else {
            auto &&result = co_await static_cast<A &&>(awaitable);
            co_yield [&receiver, &result]() noexcept {
                set_value(static_cast<R &&>(receiver), static_cast<decltype(result)>(result));
            };
        }
    } catch (...) {
        error = std::current_exception();
    }
    co_yield [&receiver, &error]() noexcept {
        set_error(static_cast<R &&>(receiver), static_cast<std::exception_ptr &&>(error));
    };
}

template <class A, class R> auto connect_awaitable(A &&awaitable, R &&receiver) {
    return connect_awaitable_coroutine<std::remove_cvref_t<A>, std::remove_cvref_t<R>>(static_cast<A &&>(awaitable),
                                                                                       static_cast<R &&>(receiver));
}

} // namespace thence::exec::detail
