// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/then.hpp
 *  @brief `then`, `upon_error`, `upon_stopped`: calls a function with the values or the error, or for stopped, and
 *         sends the value that it returns.
 *
 *  Completion signatures, for the channel of the function:
 *  - set_value_t(Result) for each set of arguments, set_value_t() if it returns void,
 *  - set_error_t(std::exception_ptr) unless it is noexcept for all of them.
 *
 *  Those of the other two channels are unchanged.
 *
 *  Source: C++26 [exec.then]. */

// The operation state is that of the predecessor. The function is in its receiver.

#include <thence/exec/connect.hpp>
#include <thence/exec/sender_adaptor_closure.hpp>

namespace thence::exec {

namespace detail {

/** Maps the signatures of Tag to the results of F. The others are unchanged. */
template <class Tag, class F> struct then_completions {
    template <class Sig> struct map { using type = completion_signatures<Sig>; };
    template <class... As> struct map<Tag(As...)> {
        static_assert(std::is_invocable_v<F, As...>,
                      "then, upon_error, upon_stopped: the function cannot be called with what the sender before it "
                      "sends; change its parameters to take these values (by value or as rvalues)");
        using type = join_completions_t<typename result_signature<std::invoke_result_t<F, As...>>::type,
                                        completions_if_throwing<std::is_nothrow_invocable_v<F, As...>>>;
    };
};

template <class Tag, class R, class F> struct then_receiver {
    using receiver_concept = receiver_t;
    [[no_unique_address]] R next;
    [[no_unique_address]] F fn;

    template <class... As> void set_value(As &&...as) &&noexcept { take<set_value_t>(static_cast<As &&>(as)...); }
    template <class E> void set_error(E &&error) &&noexcept { take<set_error_t>(static_cast<E &&>(error)); }
    void set_stopped() &&noexcept { take<set_stopped_t>(); }
    env_of_t<R> get_env() const noexcept { return exec::get_env(next); }

private:
    template <class Channel, class... As> void take(As &&...as) noexcept {
        if constexpr (!std::is_same_v<Channel, Tag>) {
            Channel()(static_cast<R &&>(next), static_cast<As &&>(as)...);
        } else if constexpr (std::is_nothrow_invocable_v<F, As...>) {
            call(static_cast<As &&>(as)...);
        } else {
            try {
                call(static_cast<As &&>(as)...);
            } catch (...) { // the function threw; a receiver does not
                exec::set_error(static_cast<R &&>(next), std::current_exception());
            }
        }
    }
    template <class... As> void call(As &&...as) {
        if constexpr (std::is_void_v<std::invoke_result_t<F, As...>>) {
            detail::invoke(static_cast<F &&>(fn), static_cast<As &&>(as)...);
            exec::set_value(static_cast<R &&>(next));
        } else {
            exec::set_value(static_cast<R &&>(next), detail::invoke(static_cast<F &&>(fn), static_cast<As &&>(as)...));
        }
    }
};

template <class Tag, class S, class F> struct then_sender {
    using sender_concept = sender_t;
    [[no_unique_address]] F fn;
    [[no_unique_address]] S predecessor;

    template <class Self, class... Env>
    requires sender_in<copy_cvref_t<Self, S>, Env...>
    static consteval auto get_completion_signatures() {
        return typename map_completions<child_completions_t<Self, S, Env...>,
                                        then_completions<Tag, F>::template map>::type();
    }
    template <receiver R>
    auto connect(R r) &&noexcept(nothrow_connect<S, then_receiver<Tag, R, F>> &&std::is_nothrow_move_constructible_v<F>
                                     &&std::is_nothrow_move_constructible_v<R>) {
        return exec::connect(static_cast<S &&>(predecessor),
                             then_receiver<Tag, R, F>{static_cast<R &&>(r), static_cast<F &&>(fn)});
    }
    template <receiver R>
    requires std::copy_constructible<F> && std::copy_constructible<S>
    auto connect(R r) const &noexcept(
        nothrow_connect<const S &, then_receiver<Tag, R, F>> &&std::is_nothrow_copy_constructible_v<F>
            &&std::is_nothrow_move_constructible_v<R>) {
        return exec::connect(predecessor, then_receiver<Tag, R, F>{static_cast<R &&>(r), fn});
    }
    auto get_env() const noexcept { return forward_env(exec::get_env(predecessor)); }
};

/** `adaptor(sender, fn)` and `sender | adaptor(fn)`. */
template <class Adaptor, class Tag> struct then_adaptor {
    template <sender S, movable_value F> constexpr auto operator()(S &&s, F &&fn) const {
        return then_sender<Tag, std::decay_t<S>, std::decay_t<F>>{static_cast<F &&>(fn), static_cast<S &&>(s)};
    }
    template <movable_value F> constexpr auto operator()(F &&fn) const {
        return bound_closure(Adaptor(), static_cast<F &&>(fn));
    }
};

} // namespace detail

/** @brief Calls a function with the values; sends what it returns. */
struct then_t : detail::then_adaptor<then_t, set_value_t> {};
/** @brief Calls a function with the error; sends what it returns as a value. */
struct upon_error_t : detail::then_adaptor<upon_error_t, set_error_t> {};
/** @brief Calls a function if the sender was stopped; sends what it returns as a value. */
struct upon_stopped_t : detail::then_adaptor<upon_stopped_t, set_stopped_t> {};
inline constexpr then_t then{};
inline constexpr upon_error_t upon_error{};
inline constexpr upon_stopped_t upon_stopped{};

} // namespace thence::exec
