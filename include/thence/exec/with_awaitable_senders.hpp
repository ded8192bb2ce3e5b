// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/with_awaitable_senders.hpp
 *  @brief A base class of the promise of your own coroutine type. Its coroutines can `co_await` senders. If a sender is
 *         stopped, the coroutine and those that wait for it end.
 *
 *  Source: C++26 [exec.with.awaitable.senders]. */

#include <thence/exec/as_awaitable.hpp>

namespace thence::exec {

template <class Promise> class with_awaitable_senders {
public:
    /** @brief The coroutine that waits for this one. */
    template <class Waiting> void set_continuation(std::coroutine_handle<Waiting> waiting) noexcept {
        static_assert(!std::is_void_v<Waiting>, "pass the coroutine_handle<Promise> of the coroutine that waits");
        continuation_ = waiting;
        if constexpr (requires { waiting.promise().unhandled_stopped(); }) {
            stopped_ = [](void *address) noexcept -> std::coroutine_handle<> {
                return std::coroutine_handle<Waiting>::from_address(address).promise().unhandled_stopped();
            };
        } else {
            stopped_ = no_answer;
        }
    }
    std::coroutine_handle<> continuation() const noexcept { return continuation_; }

    /** @return the coroutine to resume after this one was stopped. Ends the program if the waiting coroutine has no
     *          unhandled_stopped(), so cannot be stopped. */
    std::coroutine_handle<> unhandled_stopped() noexcept { return stopped_(continuation_.address()); }

    template <class T> decltype(auto) await_transform(T &&value) {
        return as_awaitable(static_cast<T &&>(value), static_cast<Promise &>(*this));
    }

private:
    [[noreturn]] static std::coroutine_handle<> no_answer(void *) noexcept { std::terminate(); }

    std::coroutine_handle<> continuation_;
    std::coroutine_handle<> (*stopped_)(void *) noexcept = no_answer;
};

} // namespace thence::exec
