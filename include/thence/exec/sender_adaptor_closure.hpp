// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/sender_adaptor_closure.hpp
 *  @brief `sender | closure`. A closure is an adaptor with all its arguments except the sender. `closure | closure` is
 *         a closure too. To make your own, derive from sender_adaptor_closure<itself>, with an operator() of a sender.
 *
 *  Source: C++26 [exec.adapt.obj]. */

#include <thence/exec/senders.hpp>

namespace thence::exec {

template <class Derived> struct sender_adaptor_closure {};

namespace detail {

template <class T>
concept closure =
    std::derived_from<std::remove_cvref_t<T>, sender_adaptor_closure<std::remove_cvref_t<T>>> && !sender<T> &&
    movable_value<T>;

/** The closure of `adaptor(sender, args...)`. */
template <class Adaptor, class... As> struct bound_closure : sender_adaptor_closure<bound_closure<Adaptor, As...>> {
    [[no_unique_address]] std::tuple<As...> args;

    template <class... Bs>
    constexpr explicit bound_closure(Adaptor, Bs &&...bs) noexcept((std::is_nothrow_constructible_v<As, Bs> && ...))
        : args(static_cast<Bs &&>(bs)...) {}

    template <sender S> constexpr auto operator()(S &&s) && {
        return std::apply([&s](As &...as) { return Adaptor()(static_cast<S &&>(s), static_cast<As &&>(as)...); }, args);
    }
    template <sender S> constexpr auto operator()(S &&s) const & {
        return std::apply([&s](const As &...as) { return Adaptor()(static_cast<S &&>(s), as...); }, args);
    }
};
template <class Adaptor, class... Bs> bound_closure(Adaptor, Bs &&...) -> bound_closure<Adaptor, std::decay_t<Bs>...>;

template <class First, class Second> struct composed_closure : sender_adaptor_closure<composed_closure<First, Second>> {
    [[no_unique_address]] First first;
    [[no_unique_address]] Second second;

    constexpr composed_closure(First f, Second s)
        : first(static_cast<First &&>(f)), second(static_cast<Second &&>(s)) {}
    template <sender S> constexpr auto operator()(S &&s) && {
        return static_cast<Second &&>(second)(static_cast<First &&>(first)(static_cast<S &&>(s)));
    }
    template <sender S> constexpr auto operator()(S &&s) const & { return second(first(static_cast<S &&>(s))); }
};

} // namespace detail

template <sender S, detail::closure C>
requires std::invocable<C, S>
constexpr auto operator|(S &&s, C &&closure) {
    return static_cast<C &&>(closure)(static_cast<S &&>(s));
}

template <detail::closure First, detail::closure Second> constexpr auto operator|(First &&first, Second &&second) {
    return detail::composed_closure<std::decay_t<First>, std::decay_t<Second>>(static_cast<First &&>(first),
                                                                               static_cast<Second &&>(second));
}

} // namespace thence::exec
