// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/senders.hpp
 *  @brief Senders: descriptions of work that, connected to a receiver, become operations.
 *
 *  A sender type has the member type `sender_concept = sender_t`. Its completion signatures are those of the first of
 *  these that it has:
 *  - `template <class Self, class... Env> static consteval auto get_completion_signatures()` (C++26),
 *  - `get_completion_signatures(environment)`, a member, of which only the return type is used (P2300),
 *  - a member type `completion_signatures`,
 *  - if it is awaitable: the value that `co_await` returns, a std::exception_ptr, or stopped.
 *
 *  Source: C++26 [exec.snd.concepts], [exec.getcomplsigs]; P2300R10, P3557R3. */

#include <thence/exec/awaitable.hpp>
#include <thence/exec/completion_signatures.hpp>

namespace thence::exec {

/** @brief The tag that a sender has as its member type `sender_concept`. */
struct sender_t {};
using sender_tag = sender_t;

template <class S>
concept sender = ((requires { typename std::remove_cvref_t<S>::sender_concept; } &&
                   std::derived_from<typename std::remove_cvref_t<S>::sender_concept, sender_t>) ||
                  (!requires { typename std::remove_cvref_t<S>::sender_concept; } &&
                   detail::awaitable<S, detail::env_promise<env<>>>)) &&
                 std::move_constructible<std::remove_cvref_t<S>> &&std::constructible_from<std::remove_cvref_t<S>, S>;

namespace detail {

template <class S, class... Env>
concept static_signatures = requires {
    std::remove_cvref_t<S>::template get_completion_signatures<S, Env...>();
};
template <class S, class... Env>
concept member_signatures = requires(S &&s, Env &&...e) {
    static_cast<S &&>(s).get_completion_signatures(static_cast<Env &&>(e)...);
};
template <class S>
concept nested_signatures = requires {
    typename std::remove_cvref_t<S>::completion_signatures;
};

template <class... Env> struct promise_for;
template <> struct promise_for<> { using type = env_promise<env<>>; };
template <class Env> struct promise_for<Env> { using type = env_promise<Env>; };

template <class T>
using await_completions = join_completions_t<typename result_signature<T>::type,
                                             completion_signatures<set_error_t(std::exception_ptr), set_stopped_t()>>;

template <class S, class... Env> struct signatures_of {};
template <class S, class... Env>
requires static_signatures<S, Env...>
struct signatures_of<S, Env...> {
    using type = decltype(std::remove_cvref_t<S>::template get_completion_signatures<S, Env...>());
};
template <class S, class Env>
requires(!static_signatures<S, Env> && static_signatures<S>) struct signatures_of<S, Env> {
    using type = decltype(std::remove_cvref_t<S>::template get_completion_signatures<S>());
};
template <class S, class... Env>
requires(!static_signatures<S, Env...> && !static_signatures<S> &&
         member_signatures<S, Env...>) struct signatures_of<S, Env...> {
    using type = decltype(std::declval<S>().get_completion_signatures(std::declval<Env>()...));
};
template <class S, class... Env>
requires(!static_signatures<S, Env...> && !static_signatures<S> && !member_signatures<S, Env...> &&
         nested_signatures<S>) struct signatures_of<S, Env...> {
    using type = typename std::remove_cvref_t<S>::completion_signatures;
};
template <class S, class... Env>
requires(!static_signatures<S, Env...> && !static_signatures<S> && !member_signatures<S, Env...> &&
         !nested_signatures<S> && awaitable<S, typename promise_for<Env...>::type>) struct signatures_of<S, Env...> {
    using type = await_completions<await_result_t<S>>;
};

template <class S, class... Env>
concept has_signatures = requires {
    typename signatures_of<S, Env...>::type;
}
&&is_completions<typename signatures_of<S, Env...>::type>;

} // namespace detail

/** @brief A sender whose completion signatures are known for an environment; without `Env`, for every environment. */
template <class S, class... Env>
concept sender_in = sender<S> && sizeof...(Env) <= 1 && detail::has_signatures<S, Env...>;

/** @brief The `completion_signatures` of a sender. */
template <class S, class... Env>
requires sender_in<S, Env...>
using completion_signatures_of_t = typename detail::signatures_of<S, Env...>::type;

/** @brief The same as a value. */
template <class S, class... Env>
requires sender_in<S, Env...>
consteval auto get_completion_signatures() {
    return completion_signatures_of_t<S, Env...>();
}

/** @brief `Variant<Tuple<Values...>...>`, one Tuple for each way to complete with values. */
template <class S, class Env = env<>, template <class...> class Tuple = detail::decayed_tuple,
          template <class...> class Variant = detail::list>
using value_types_of_t =
    detail::rename_t<detail::gather_t<set_value_t, completion_signatures_of_t<S, Env>, Tuple>, Variant>;

/** @brief `Variant<Errors...>`. */
template <class S, class Env = env<>, template <class...> class Variant = detail::list>
using error_types_of_t =
    detail::rename_t<detail::gather_t<set_error_t, completion_signatures_of_t<S, Env>, detail::identity_t>, Variant>;

namespace detail {

template <class Completions> inline constexpr bool has_stopped = false;
template <class... Sigs>
inline constexpr bool has_stopped<completion_signatures<Sigs...>> = contains<set_stopped_t(), Sigs...>;

/** The completion signatures of `Child`, a sender that is a member of the sender `Self`. */
template <class Self, class Child, class... Env>
using child_completions_t = completion_signatures_of_t<copy_cvref_t<Self, Child>, Env...>;

} // namespace detail

/** @brief Whether a sender may complete with set_stopped. */
template <class S, class Env = env<>>
inline constexpr bool sends_stopped = detail::has_stopped<completion_signatures_of_t<S, Env>>;

} // namespace thence::exec
