// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/env.hpp
 *  @brief Environments: objects that answer queries, `environment.query(query)`.
 *
 *  The environment of a receiver has the stop token, scheduler and allocator of its operation. The environment of a
 *  sender has what is known before it is started, such as the scheduler on which it completes.
 *
 *  Source: C++26 [exec.envs], [exec.get.env], [exec.prop], [exec.env]. */

#include <thence/exec/detail/meta.hpp>

namespace thence::exec {

template <class T>
concept queryable = std::destructible<T>;

namespace detail {

template <class Env, class Query, class... As>
concept answers = requires(const Env &env, As &&...as) {
    env.query(Query(), static_cast<As &&>(as)...);
};

} // namespace detail

/** @brief An environment with one answer: `prop{get_stop_token, token}`. */
template <class Query, class Value> struct prop {
    [[no_unique_address]] Query question;
    [[no_unique_address]] Value value;

    constexpr const Value &query(Query, auto &&...) const noexcept { return value; }
};
template <class Query, class Value> prop(Query, Value) -> prop<Query, Value>;

/** @brief Joins several environments. The first that answers a query is used. `env<>` answers none. */
template <class... Envs> struct env;

template <> struct env<> {};

template <class First, class... Rest> struct env<First, Rest...> {
    [[no_unique_address]] First first;
    [[no_unique_address]] env<Rest...> rest;

    constexpr env(First f, Rest... r) : first(static_cast<First &&>(f)), rest(static_cast<Rest &&>(r)...) {}
    template <class Query, class... As>
    requires(detail::answers<First, Query, As...> ||
             detail::answers<env<Rest...>, Query, As...>) constexpr decltype(auto)
        query(Query question, As &&...as) const noexcept {
        if constexpr (detail::answers<First, Query, As...>) {
            return first.query(question, static_cast<As &&>(as)...);
        } else {
            return rest.query(question, static_cast<As &&>(as)...);
        }
    }
};
template <class... Envs> env(Envs...) -> env<Envs...>;

/** @return the environment of a receiver, sender, promise ...: that of its member `get_env()`, or `env<>`. */
struct get_env_t {
    template <class T> constexpr auto operator()(const T &object) const noexcept {
        if constexpr (requires { object.get_env(); }) {
            static_assert(noexcept(object.get_env()), "declare the member get_env() noexcept");
            return object.get_env();
        } else {
            return env<>();
        }
    }
};
inline constexpr get_env_t get_env{};

template <class T> using env_of_t = decltype(get_env(std::declval<T>()));

/** @brief Whether an adaptor passes a query on: a query says so with a member `query(forwarding_query)`, or by deriving
 *         from forwarding_query_t. */
struct forwarding_query_t {
    template <class Query> constexpr bool operator()(Query question) const noexcept {
        if constexpr (requires { question.query(*this); }) {
            return question.query(*this);
        } else {
            return std::derived_from<Query, forwarding_query_t>;
        }
    }
};
inline constexpr forwarding_query_t forwarding_query{};

namespace detail {

/** The environment that an adaptor forwards: queries that are forwarding queries. */
template <class Env> struct forwarded_env {
    [[no_unique_address]] Env inner;

    template <class Query, class... As>
    requires(forwarding_query(Query()) && answers<Env, Query, As...>) constexpr decltype(auto)
        query(Query question, As &&...as) const noexcept {
        return inner.query(question, static_cast<As &&>(as)...);
    }
};
template <class Env> constexpr auto forward_env(Env inner) noexcept {
    return forwarded_env<Env>{static_cast<Env &&>(inner)};
}
constexpr env<> forward_env(env<>) noexcept {
    return {};
}
template <class T> using forwarded_env_of_t = decltype(forward_env(std::declval<env_of_t<T>>()));

} // namespace detail

} // namespace thence::exec
