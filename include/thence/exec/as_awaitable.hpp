// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_EXEC_AS_AWAITABLE_HPP
#define THENCE_EXEC_AS_AWAITABLE_HPP

/** @file exec/as_awaitable.hpp
 *  @brief What a coroutine awaits when it says `co_await sender`: the operation lives in its frame, nothing is allocated.
 *
 *  The sender must have one way to complete with values. `co_await` gives nothing, the value, or a tuple of several
 *  values; it throws the error; when the sender is stopped, the coroutine ends there, through
 *  `promise.unhandled_stopped()`.
 *
 *  Source: C++26 [exec.as.awaitable].
 * */

// Invariant: the coroutine goes on exactly once. The completion and the end of await_suspend both move `stage`; the
// second of them resumes. So a sender that completes inside start() returns into the coroutine instead of calling it
// deeper in the stack, and a completion on another thread never resumes a coroutine that is still about to suspend.

#include <thence/exec/connect.hpp>
#include <thence/exec/detail/as_exception.hpp>
#include <thence/exec/detail/atomic.hpp>
#include <thence/exec/detail/variant.hpp>

namespace thence::exec {

namespace detail {

struct nothing {};

/** From the list of value tuples of a sender: what is kept, and what co_await returns. */
template <class Values> struct await_value {
    static_assert(always_false<Values>, "co_await of a sender with no or several ways to complete with values; handle "
                                        "them before, or pipe it into into_variant()");
};
template <> struct await_value<list<std::tuple<>>> {
    using kept = nothing;
    using type = void;
};
template <class T> struct await_value<list<std::tuple<T>>> {
    using kept = T;
    using type = T;
};
template <class T, class U, class... Vs> struct await_value<list<std::tuple<T, U, Vs...>>> {
    using kept = std::tuple<T, U, Vs...>;
    using type = kept;
};
// A sender without values still says where it stops the coroutine.
template <> struct await_value<list<>> : await_value<list<std::tuple<>>> {};

template <class S, class Promise> class sender_awaitable : immovable {
    using value = await_value<value_types_of_t<S, env_of_t<Promise>>>;
    using kept = typename value::kept;
    enum stage_t : unsigned char { started, suspended, completed };

    struct awaiting_receiver {
        using receiver_concept = receiver_t;
        sender_awaitable *self;

        template <class... Vs>
            requires std::constructible_from<kept, Vs...>
        void set_value(Vs &&...values) && noexcept {
            if constexpr (std::is_nothrow_constructible_v<kept, Vs...>) {
                self->outcome_.template emplace<kept>(static_cast<Vs &&>(values)...);
            } else {
                try {
                    self->outcome_.template emplace<kept>(static_cast<Vs &&>(values)...);
                } catch (...) {
                    self->outcome_.template emplace<std::exception_ptr>(std::current_exception());
                }
            }
            self->complete();
        }
        template <class E> void set_error(E &&error) && noexcept {
            self->outcome_.template emplace<std::exception_ptr>(as_exception(static_cast<E &&>(error)));
            self->complete();
        }
        void set_stopped() && noexcept { self->complete(); }
        auto get_env() const noexcept { return exec::get_env(self->coroutine_.promise()); }
    };

public:
    sender_awaitable(S &&s, Promise &promise)
        : coroutine_(std::coroutine_handle<Promise>::from_promise(promise)),
          operation_(exec::connect(static_cast<S &&>(s), awaiting_receiver{this})) {}

    static constexpr bool await_ready() noexcept { return false; }
    bool await_suspend(std::coroutine_handle<Promise>) noexcept {
        exec::start(operation_);
        unsigned char expected = started;
        if (stage_.compare_exchange(expected, suspended))
            return true; // this may be gone already
        if (!outcome_.empty())
            return false;
        coroutine_.promise().unhandled_stopped().resume(); // may destroy this
        return true;
    }
    typename value::type await_resume() {
        if (outcome_.template holds<std::exception_ptr>())
            std::rethrow_exception(static_cast<std::exception_ptr &&>(outcome_.template get<std::exception_ptr>()));
        if constexpr (!std::is_void_v<typename value::type>)
            return static_cast<kept &&>(outcome_.template get<kept>());
    }

private:
    void complete() noexcept {
        if (stage_.exchange(completed) != suspended)
            return; // await_suspend sees it
        if (outcome_.empty())
            coroutine_.promise().unhandled_stopped().resume();
        else
            coroutine_.resume();
    }

    variant<kept, std::exception_ptr> outcome_; // empty: stopped
    atomic<unsigned char> stage_{started};
    std::coroutine_handle<Promise> coroutine_;
    connect_result_t<S, awaiting_receiver> operation_;
};

} // namespace detail

/** @brief `as_awaitable(value, promise)`: the value's own member as_awaitable(promise), or itself if it is awaitable, or
 *         a sender made awaitable, or else the value as it is. */
struct as_awaitable_t {
    template <class T, class Promise> decltype(auto) operator()(T &&value, Promise &promise) const {
        if constexpr (detail::has_as_awaitable<T, Promise>)
            return static_cast<T &&>(value).as_awaitable(promise);
        else if constexpr (detail::awaitable<T, Promise>)
            return static_cast<T &&>(value);
        else if constexpr (sender_in<T, env_of_t<Promise>>)
            return detail::sender_awaitable<T, Promise>(static_cast<T &&>(value), promise);
        else
            return static_cast<T &&>(value);
    }
};
inline constexpr as_awaitable_t as_awaitable{};

} // namespace thence::exec

#endif
