// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/queries.hpp
 *  @brief The queries of environments that algorithms use. Each is a function object. Adaptors forward all of them.
 *
 *  Source: C++26 [exec.queries]. */

#include <thence/exec/env.hpp>
#include <thence/exec/stop_token.hpp>

namespace thence::exec {

/** @brief The stop token of an operation; never_stop_token if the environment has none. */
struct get_stop_token_t : forwarding_query_t {
    template <class Env> constexpr auto operator()(const Env &environment) const noexcept {
        if constexpr (detail::answers<Env, get_stop_token_t>) {
            static_assert(stoppable_token<std::remove_cvref_t<decltype(environment.query(*this))>>,
                          "what query(get_stop_token) returns must be a stop token: see thence/exec/stop_token.hpp");
            return environment.query(*this);
        } else {
            return never_stop_token();
        }
    }
};
inline constexpr get_stop_token_t get_stop_token{};
template <class T> using stop_token_of_t = decltype(get_stop_token(std::declval<T>()));

namespace detail {

/** A query without a default answer. */
template <class Query> struct required_query : forwarding_query_t {
    template <class Env>
    requires answers<Env, Query>
    constexpr auto operator()(const Env &environment) const noexcept { return environment.query(Query()); }
};

} // namespace detail

/** @brief The scheduler on which the operation was started. New work may be scheduled there. */
struct get_scheduler_t : detail::required_query<get_scheduler_t> {};
inline constexpr get_scheduler_t get_scheduler{};

/** @brief A scheduler of the thread that waits for the operation. It makes progress while that thread waits. */
struct get_delegation_scheduler_t : detail::required_query<get_delegation_scheduler_t> {};
inline constexpr get_delegation_scheduler_t get_delegation_scheduler{};

/** @brief The allocator that an algorithm uses for memory on the heap. */
struct get_allocator_t : detail::required_query<get_allocator_t> {};
inline constexpr get_allocator_t get_allocator{};

/** @brief A query of the environment of a sender: the scheduler on which it completes with `Tag` (`set_value_t`,
 *         ...). */
template <class Tag> struct get_completion_scheduler_t : detail::required_query<get_completion_scheduler_t<Tag>> {};
template <class Tag> inline constexpr get_completion_scheduler_t<Tag> get_completion_scheduler{};

} // namespace thence::exec
