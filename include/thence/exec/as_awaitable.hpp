// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/as_awaitable.hpp
 *  @brief The awaitable of `co_await sender`. The operation is in the frame of the coroutine; nothing is allocated.
 *
 *  The sender must have exactly one set_value_t signature. `co_await` returns nothing, the value, or a tuple of several
 *  values. It throws the error. If the sender is stopped, the coroutine ends there, through
 *  `promise.unhandled_stopped()`.
 *
 *  Completion signatures that it accepts: exactly one set_value_t(Vs...); set_error_t(E) of any E; set_stopped_t().
 *
 *  Source: C++26 [exec.as.awaitable]. */

// Invariant: the coroutine is resumed exactly once, on the thread of the completion. It is suspended when await_suspend
// is called. So a completion on another thread resumes it at once, and await_suspend must not access the coroutine or
// the awaitable after that. A completion inside start() on the same thread only sets a flag on the stack of
// await_suspend, which then returns into the coroutine. So a loop over senders that complete at once does not nest on
// the stack.

#include <thence/exec/connect.hpp>
#include <thence/exec/detail/as_exception.hpp>
#include <thence/exec/detail/variant.hpp>

#include <cstdint>

namespace thence::exec {

namespace detail {

/** On the stack of an await_suspend that is in start(). Each thread has a list of them. */
struct starting {
    const void *awaitable;
    starting *outer;
    bool completed = false;
};
inline constinit thread_local starting *innermost_starting = nullptr;

struct nothing {};

/** Computes from the list of value tuples of a sender the type that is stored, and the type that co_await returns. */
template <class Values> struct await_value {
    static_assert(always_false<Values>, "co_await of a sender with several ways to complete with values: pipe it into "
                                        "into_variant() to make one of them");
    using kept = nothing; // avoids a second message
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
// A sender without set_value_t can be awaited too: it throws, or ends the coroutine.
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
        if (!completes_in_start()) {
            return true; // *this may be destroyed already
        }
        if (!outcome_.empty()) {
            return false;
        }
        coroutine_.promise().unhandled_stopped().resume(); // may destroy this
        return true;
    }
    typename value::type await_resume() {
        if (outcome_.template holds<std::exception_ptr>()) {
            std::rethrow_exception(static_cast<std::exception_ptr &&>(outcome_.template get<std::exception_ptr>()));
        }
        if constexpr (!std::is_void_v<typename value::type>) {
            return static_cast<kept &&>(outcome_.template get<kept>());
        }
    }

private:
    // Not inlined: the compiler must not reuse the address of the thread's list after a suspension, since the coroutine
    // may be resumed on another thread.
    [[gnu::noinline]] bool completes_in_start() noexcept {
        starting entry{this, innermost_starting};
        starting_ = reinterpret_cast<std::uintptr_t>(&entry);
        innermost_starting = &entry;
        exec::start(operation_);
        innermost_starting = entry.outer;
        return entry.completed;
    }
    [[gnu::noinline]] starting *being_started() const noexcept {
        // Both must match: after an awaitable or a stack frame is destroyed, another may have its address.
        for (starting *s = innermost_starting; s != nullptr; s = s->outer) {
            if (reinterpret_cast<std::uintptr_t>(s) == starting_ && s->awaitable == this) {
                return s;
            }
        }
        return nullptr;
    }
    void complete() noexcept {
        if (starting *const entry = being_started(); entry != nullptr) {
            entry->completed = true;
        } else if (outcome_.empty()) {
            coroutine_.promise().unhandled_stopped().resume();
        } else {
            coroutine_.resume();
        }
    }

    variant<kept, std::exception_ptr> outcome_; // empty: stopped
    std::uintptr_t starting_ = 0;               // the address of a `starting` that may be destroyed
    std::coroutine_handle<Promise> coroutine_;
    connect_result_t<S, awaiting_receiver> operation_;
};

} // namespace detail

/** @brief `as_awaitable(value, promise)` returns what co_await of the value awaits: the result of the value's member
 *         as_awaitable(promise) if it has one; the value if it is awaitable; the awaitable of a sender; else the
 *         value. */
struct as_awaitable_t {
    template <class T, class Promise> decltype(auto) operator()(T &&value, Promise &promise) const {
        if constexpr (detail::has_as_awaitable<T, Promise>) {
            return static_cast<T &&>(value).as_awaitable(promise);
        } else if constexpr (!detail::awaitable<T, Promise> && sender_in<T, env_of_t<Promise>>) {
            return detail::sender_awaitable<T, Promise>(static_cast<T &&>(value), promise);
        } else {
            return static_cast<T &&>(value);
        }
    }
};
inline constexpr as_awaitable_t as_awaitable{};

} // namespace thence::exec
