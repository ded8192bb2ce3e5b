// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/awaitable.hpp
 *  @brief The types that a coroutine can `co_await`, and the type of the result. Every such type is a sender too.
 *
 *  Completion signatures of such a sender: see exec/connect_awaitable.hpp.
 *
 *  Source: C++26 [exec.awaitable]. */

#include <thence/detail/cxx20.hpp>

#include <coroutine>

#include <thence/exec/env.hpp>

namespace thence::exec::detail {

template <class T>
concept suspend_result =
    std::same_as<T, void> || std::same_as<T, bool> || std::convertible_to<T, std::coroutine_handle<>>;

template <class A, class Promise>
concept awaiter = requires(A &a, std::coroutine_handle<Promise> handle) {
    a.await_ready() ? 1 : 0;
    { a.await_suspend(handle) } -> suspend_result;
    a.await_resume();
};

/** The awaiter of `co_await value`, after any await_transform. */
template <class T> constexpr decltype(auto) awaiter_of(T &&value) {
    if constexpr (requires { static_cast<T &&>(value).operator co_await(); }) {
        return static_cast<T &&>(value).operator co_await();
    } else if constexpr (requires { operator co_await(static_cast<T &&>(value)); }) {
        return operator co_await(static_cast<T &&>(value));
    } else {
        return static_cast<T &&>(value);
    }
}

/** Whether a coroutine with this promise can `co_await` a T that need not be a sender. */
template <class T, class Promise>
concept awaitable = requires(T &&value) {
    { awaiter_of(static_cast<T &&>(value)) } -> awaiter<Promise>;
};

template <class T> using await_result_t = decltype(awaiter_of(std::declval<T>()).await_resume());

/** Whether a T has a member `as_awaitable(promise)`, which returns what coroutines with that promise await. */
template <class T, class Promise>
concept has_as_awaitable = requires(T &&value, Promise &promise) {
    static_cast<T &&>(value).as_awaitable(promise);
};

/** A promise with the environment Env, for use in unevaluated expressions. */
template <class Env> struct env_promise {
    const Env &get_env() const noexcept;
    std::coroutine_handle<> unhandled_stopped() noexcept;
};

} // namespace thence::exec::detail
