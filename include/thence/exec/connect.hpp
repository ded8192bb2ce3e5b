// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/connect.hpp
 *  @brief connect(): makes an operation state of a sender and a receiver, which start() starts.
 *
 *  `connect(sender, receiver)` calls the member `sender.connect(receiver)`. For an awaitable without that member it
 *  makes a coroutine, whose frame is the only allocation.
 *
 *  Completion signatures: those of the sender in the receiver's environment. The receiver must accept each of them.
 *
 *  Source: C++26 [exec.connect]. */

#include <thence/exec/connect_awaitable.hpp>
#include <thence/exec/operation_state.hpp>
#include <thence/exec/senders.hpp>

#include <exception>

namespace thence::exec {

namespace detail {

template <class S, class R>
concept has_connect = requires(S &&s, R &&r) {
    static_cast<S &&>(s).connect(static_cast<R &&>(r));
};

} // namespace detail

struct connect_t {
    template <class S, class R>
    requires detail::has_connect<S, R>
    constexpr auto operator()(S &&s, R &&r) const
        noexcept(noexcept(static_cast<S &&>(s).connect(static_cast<R &&>(r)))) {
        static_assert(operation_state<decltype(static_cast<S &&>(s).connect(static_cast<R &&>(r)))>,
                      "what a sender's connect() returns must be an operation state: give it "
                      "`using operation_state_concept = operation_state_t` and `void start() & noexcept`");
        return static_cast<S &&>(s).connect(static_cast<R &&>(r));
    }
    template <class S, class R>
    requires(!detail::has_connect<S, R> && detail::awaitable<S, detail::connect_promise<std::remove_cvref_t<R>>>) auto
    operator()(S &&s, R &&r) const {
        return detail::connect_awaitable(static_cast<S &&>(s), static_cast<R &&>(r));
    }
};
inline constexpr connect_t connect{};

template <class S, class R> using connect_result_t = decltype(connect(std::declval<S>(), std::declval<R>()));

/** @brief A sender that can be connected to R, which accepts all its completions. */
template <class S, class R>
concept sender_to = sender_in<S, env_of_t<R>> && receiver_of<R, completion_signatures_of_t<S, env_of_t<R>>> &&
    requires(S &&s, R &&r) {
    connect(static_cast<S &&>(s), static_cast<R &&>(r));
};

namespace detail {

template <class S, class R>
inline constexpr bool nothrow_connect = noexcept(connect(std::declval<S>(), std::declval<R>()));

/** A receiver that accepts any completion. It is used only in noexcept(), to find out whether connect() throws. Nothing
 *  calls its functions, but they have bodies: a compiler that does not optimize emits virtual functions that do. */
template <class Env> struct receiver_archetype {
    using receiver_concept = receiver_t;
    void set_value(auto &&...) &&noexcept {}
    void set_error(auto &&) &&noexcept {}
    void set_stopped() &&noexcept {}
    Env get_env() const noexcept { std::terminate(); }
};
template <class... Env> struct archetype_for { using type = receiver_archetype<env<>>; };
template <class Env> struct archetype_for<Env> { using type = receiver_archetype<Env>; };

} // namespace detail

} // namespace thence::exec
