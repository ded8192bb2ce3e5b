// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_EXEC_AS_AWAITABLE_HPP
#define THENCE_EXEC_AS_AWAITABLE_HPP
#if __cplusplus < 202002L
#error "thence/exec/as_awaitable.hpp needs C++20: compile with -std=c++20"
#else

/** @file exec/as_awaitable.hpp
 *  @brief What a coroutine awaits when it says `co_await sender`: the operation lives in its frame, nothing is
 *         allocated.
 *
 *  The sender must have one way to complete with values. `co_await` gives nothing, the value, or a tuple of several
 *  values; it throws the error; when the sender is stopped, the coroutine ends there, through
 *  `promise.unhandled_stopped()`.
 *
 *  Completion signatures that it takes: set_value_t(Vs...) of exactly one kind; set_error_t(E) of any E;
 *  set_stopped_t().
 *
 *  Source: C++26 [exec.as.awaitable]. */

// Invariant: the coroutine goes on exactly once, on the thread of the completion. It counts as suspended as soon as
// await_suspend is entered, so a completion on another thread resumes it at once, and await_suspend then touches
// neither it nor the awaitable any more. A completion inside start() on the same thread only says so, in the frame of
// await_suspend, which returns into the coroutine: a loop over senders that complete at once uses no stack.

#include <thence/exec/connect.hpp>
#include <thence/exec/detail/as_exception.hpp>
#include <thence/exec/detail/variant.hpp>

#include <cstdint>

namespace thence::exec {

namespace detail {

/** In the frame of an await_suspend that is starting an operation; the list of them belongs to its thread. */
struct starting {
    const void *awaitable;
    starting *outer;
    bool completed = false;
};
inline constinit thread_local starting *innermost_starting = nullptr;

struct nothing {};

/** From the list of value tuples of a sender: what is kept, and what co_await returns. */
template <class Values> struct await_value {
    static_assert(always_false<Values>, "co_await of a sender with several ways to complete with values: pipe it into "
                                        "into_variant() to make one of them");
    using kept = nothing; // no second message
    using type = void;
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

    struct awaiting_receiver {
        using receiver_concept = receiver_t;
        sender_awaitable *self;

        template <class... Vs>
        requires std::constructible_from<kept, Vs...>
        void set_value(Vs &&...values) &&noexcept {
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
        template <class E> void set_error(E &&error) &&noexcept {
            self->outcome_.template emplace<std::exception_ptr>(as_exception(static_cast<E &&>(error)));
            self->complete();
        }
        void set_stopped() &&noexcept { self->complete(); }
        env_of_t<Promise> get_env() const noexcept { return exec::get_env(self->coroutine_.promise()); }
    };

public:
    sender_awaitable(S &&s, Promise &promise)
        : coroutine_(std::coroutine_handle<Promise>::from_promise(promise)),
          operation_(exec::connect(static_cast<S &&>(s), awaiting_receiver{this})) {}

    static constexpr bool await_ready() noexcept { return false; }
    bool await_suspend(std::coroutine_handle<Promise>) noexcept {
        if (!completes_in_start())
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
    // Not inlined: no compiler may keep the address of the list across a suspension, after which the thread may be
    // another one.
    [[gnu::noinline]] bool completes_in_start() noexcept {
        starting here{this, innermost_starting};
        starting_ = reinterpret_cast<std::uintptr_t>(&here);
        innermost_starting = &here;
        exec::start(operation_);
        innermost_starting = here.outer;
        return here.completed;
    }
    [[gnu::noinline]] starting *being_started() const noexcept {
        // Both must match: the address of an awaitable, or of a frame, that is gone may be in use again.
        for (starting *s = innermost_starting; s != nullptr; s = s->outer)
            if (reinterpret_cast<std::uintptr_t>(s) == starting_ && s->awaitable == this)
                return s;
        return nullptr;
    }
    void complete() noexcept {
        if (starting *const now = being_started(); now != nullptr)
            now->completed = true;
        else if (outcome_.empty())
            coroutine_.promise().unhandled_stopped().resume();
        else
            coroutine_.resume();
    }

    variant<kept, std::exception_ptr> outcome_; // empty: stopped
    std::uintptr_t starting_ = 0;               // an address: nothing may lie there any more
    std::coroutine_handle<Promise> coroutine_;
    connect_result_t<S, awaiting_receiver> operation_;
};

} // namespace detail

/** @brief `as_awaitable(value, promise)`: the value's own member as_awaitable(promise), or itself if it is awaitable,
 *         or a sender made awaitable, or else the value as it is. */
struct as_awaitable_t {
    template <class T, class Promise> decltype(auto) operator()(T &&value, Promise &promise) const {
        if constexpr (detail::has_as_awaitable<T, Promise>)
            return static_cast<T &&>(value).as_awaitable(promise);
        else if constexpr (!detail::awaitable<T, Promise> && sender_in<T, env_of_t<Promise>>)
            return detail::sender_awaitable<T, Promise>(static_cast<T &&>(value), promise);
        else
            return static_cast<T &&>(value);
    }
};
inline constexpr as_awaitable_t as_awaitable{};

} // namespace thence::exec

#endif // C++20
#endif
