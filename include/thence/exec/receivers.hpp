// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/receivers.hpp
 *  @brief Receivers: callbacks with three channels. An operation calls exactly one of `set_value`, `set_error` and
 *         `set_stopped`, once, and does not access its own state after that.
 *
 *  Source: C++26 [exec.recv], [exec.set.value], [exec.set.error], [exec.set.stopped]. */

#include <thence/exec/env.hpp>

namespace thence::exec {

/** @brief The tag that a receiver has as its member type `receiver_concept`. */
struct receiver_t {};
using receiver_tag = receiver_t;

namespace detail {

template <class R> constexpr void check_receiver_argument() noexcept {
    static_assert(!std::is_reference_v<R> && !std::is_const_v<R>,
                  "to complete a receiver consumes it: pass it as a non-const rvalue, std::move(receiver)");
}

} // namespace detail

/** @brief Completes a receiver with values. */
struct set_value_t {
    template <class R, class... Vs> constexpr void operator()(R &&receiver, Vs &&...values) const noexcept {
        detail::check_receiver_argument<R>();
        if constexpr (requires { static_cast<R &&>(receiver).set_value(static_cast<Vs &&>(values)...); }) {
            static_assert(noexcept(static_cast<R &&>(receiver).set_value(static_cast<Vs &&>(values)...)),
                          "declare the receiver's set_value noexcept");
            static_cast<R &&>(receiver).set_value(static_cast<Vs &&>(values)...);
        } else {
            static_assert(detail::always_false<R>,
                          "the receiver has no `void set_value(values...) && noexcept` for these values: add it, or "
                          "turn the values into others with then()");
        }
    }
};
/** @brief Completes a receiver with an error. */
struct set_error_t {
    template <class R, class E> constexpr void operator()(R &&receiver, E &&error) const noexcept {
        detail::check_receiver_argument<R>();
        if constexpr (requires { static_cast<R &&>(receiver).set_error(static_cast<E &&>(error)); }) {
            static_assert(noexcept(static_cast<R &&>(receiver).set_error(static_cast<E &&>(error))),
                          "declare the receiver's set_error noexcept");
            static_cast<R &&>(receiver).set_error(static_cast<E &&>(error));
        } else {
            static_assert(detail::always_false<R>,
                          "the receiver has no `void set_error(error) && noexcept` for this error: add it, or handle "
                          "the error before with upon_error()");
        }
    }
};
/** @brief Completes a receiver without a result: the operation ended early, usually since stop was requested. */
struct set_stopped_t {
    template <class R> constexpr void operator()(R &&receiver) const noexcept {
        detail::check_receiver_argument<R>();
        if constexpr (requires { static_cast<R &&>(receiver).set_stopped(); }) {
            static_assert(noexcept(static_cast<R &&>(receiver).set_stopped()),
                          "declare the receiver's set_stopped noexcept");
            static_cast<R &&>(receiver).set_stopped();
        } else {
            static_assert(detail::always_false<R>, "the receiver has no `void set_stopped() && noexcept`: add it, or "
                                                   "turn it into a value before with upon_stopped()");
        }
    }
};
inline constexpr set_value_t set_value{};
inline constexpr set_error_t set_error{};
inline constexpr set_stopped_t set_stopped{};

template <class R>
concept receiver = requires {
    typename std::remove_cvref_t<R>::receiver_concept;
}
&&std::derived_from<typename std::remove_cvref_t<R>::receiver_concept, receiver_t>
    &&std::move_constructible<std::remove_cvref_t<R>> &&std::constructible_from<std::remove_cvref_t<R>, R>;

template <class... Sigs> struct completion_signatures;

namespace detail {

template <class R, class Sig> inline constexpr bool accepts = false;
template <class R, class... Vs> inline constexpr bool accepts<R, set_value_t(Vs...)> = requires(R &&r, Vs &&...vs) {
    static_cast<R &&>(r).set_value(static_cast<Vs &&>(vs)...);
};
template <class R, class E> inline constexpr bool accepts<R, set_error_t(E)> = requires(R &&r, E &&e) {
    static_cast<R &&>(r).set_error(static_cast<E &&>(e));
};
template <class R> inline constexpr bool accepts<R, set_stopped_t()> = requires(R &&r) {
    static_cast<R &&>(r).set_stopped();
};

template <class R, class Completions> inline constexpr bool accepts_all = false;
template <class R, class... Sigs>
inline constexpr bool accepts_all<R, completion_signatures<Sigs...>> = (accepts<R, Sigs> && ...);

} // namespace detail

/** @brief A receiver that accepts every completion of `Completions`, a `completion_signatures`. */
template <class R, class Completions>
concept receiver_of = receiver<R> && detail::accepts_all<std::remove_cvref_t<R>, Completions>;

} // namespace thence::exec
