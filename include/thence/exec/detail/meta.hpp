// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Lists of types, and the concepts that all senders share. Only invoke() has code at run time.

#include <thence/detail/cxx20.hpp>

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace thence::exec::detail {

template <class... Ts> struct list {};

template <class T, class... Ts> inline constexpr bool contains = (std::is_same_v<T, Ts> || ...);

template <class> inline constexpr bool always_false = false;

template <class Done, class... Ts> struct unique_into { using type = Done; };
template <class... Done, class T, class... Ts>
struct unique_into<list<Done...>, T, Ts...>
    : unique_into<std::conditional_t<contains<T, Done...>, list<Done...>, list<Done..., T>>, Ts...> {};
/** The types without repetition, in order of their first appearance. */
template <class... Ts> using unique_t = typename unique_into<list<>, Ts...>::type;

template <class... Lists> struct concat { using type = list<>; };
template <class... Ts> struct concat<list<Ts...>> { using type = list<Ts...>; };
template <class... Ts, class... Us, class... Rest>
struct concat<list<Ts...>, list<Us...>, Rest...> : concat<list<Ts..., Us...>, Rest...> {};
template <class... Lists> using concat_t = typename concat<Lists...>::type;

template <class List, template <class...> class To> struct rename;
template <class... Ts, template <class...> class To> struct rename<list<Ts...>, To> { using type = To<Ts...>; };
template <class List, template <class...> class To> using rename_t = typename rename<List, To>::type;

template <class List> struct rename_unique;
template <class... Ts> struct rename_unique<list<Ts...>> { using type = unique_t<Ts...>; };
template <class List> using unique_list_t = typename rename_unique<List>::type;

/** The position of T among Ts. */
template <class T, class... Ts> consteval std::size_t index_of() {
    std::size_t index = 0;
    (void)((std::is_same_v<T, Ts> || (++index, false)) || ...);
    return index;
}

/** `From` with the constness and the value category of `Like`. */
template <class Like, class From>
using copy_cvref_t =
    std::conditional_t<std::is_lvalue_reference_v<Like>,
                       std::conditional_t<std::is_const_v<std::remove_reference_t<Like>>, const From &, From &>,
                       std::conditional_t<std::is_const_v<std::remove_reference_t<Like>>, const From, From>>;

template <class T>
concept movable_value = std::is_move_constructible_v<std::decay_t<T>> && std::is_constructible_v<std::decay_t<T>, T>;

template <class T> inline constexpr bool nothrow_decay_copy = std::is_nothrow_constructible_v<std::decay_t<T>, T>;

/** A base class of objects that must not be moved, since others hold their address. */
struct immovable {
    immovable() = default;
    immovable(immovable &&) = delete;
};

/** Converts to the result of `fn()`. So a member that is initialized with it is constructed in place, without a
 *  move. */
template <class Fn> struct in_place_from {
    Fn fn;
    using type = std::invoke_result_t<Fn>;
    operator type() &&noexcept(std::is_nothrow_invocable_v<Fn>) { return static_cast<Fn &&>(fn)(); } // NOLINT
};
template <class Fn> in_place_from(Fn) -> in_place_from<Fn>;

/** As std::invoke, without <functional>. */
template <class F, class... As>
constexpr decltype(auto) invoke(F &&f, As &&...as) noexcept(std::is_nothrow_invocable_v<F, As...>) {
    if constexpr (std::is_member_pointer_v<std::remove_cvref_t<F>>) {
        return std::apply(static_cast<F &&>(f), std::forward_as_tuple(static_cast<As &&>(as)...));
    } else {
        return static_cast<F &&>(f)(static_cast<As &&>(as)...);
    }
}

} // namespace thence::exec::detail
