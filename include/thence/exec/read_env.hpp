// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/read_env.hpp
 *  @brief A sender of the answer of the receiver's environment to a query: `read_env(get_stop_token)`.
 *
 *  Completion signatures: set_value_t(Answer); set_error_t(std::exception_ptr) unless the query is noexcept. They are
 *  known only for an environment that answers the query.
 *
 *  Source: C++26 [exec.read.env]. */

#include <thence/exec/connect.hpp>

namespace thence::exec {

namespace detail {

template <class R, class Query> struct read_env_operation : immovable {
    using operation_state_concept = operation_state_t;
    [[no_unique_address]] R receiver;

    explicit read_env_operation(R r) noexcept(std::is_nothrow_move_constructible_v<R>)
        : receiver(static_cast<R &&>(r)) {}
    void start() &noexcept {
        if constexpr (std::is_nothrow_invocable_v<Query, env_of_t<R>>) {
            send();
        } else {
            try {
                send();
            } catch (...) {
                exec::set_error(static_cast<R &&>(receiver), std::current_exception());
            }
        }
    }

private:
    void send() {
        // The answer may refer to the environment, so that exists until set_value() returns.
        const auto environment = exec::get_env(receiver);
        exec::set_value(static_cast<R &&>(receiver), Query()(environment));
    }
};

template <class Query> struct read_env_sender {
    using sender_concept = sender_t;

    template <class, class Env>
    requires std::is_invocable_v<Query, Env>
    static consteval auto get_completion_signatures() {
        return join_completions_t<completion_signatures<set_value_t(std::invoke_result_t<Query, Env>)>,
                                  completions_if_throwing<std::is_nothrow_invocable_v<Query, Env>>>();
    }
    template <receiver R> auto connect(R r) const noexcept(std::is_nothrow_move_constructible_v<R>) {
        static_assert(std::is_invocable_v<Query, env_of_t<R>>,
                      "read_env: the receiver's environment does not answer this query; give it an answer with "
                      "write_env(sender, prop{query, value})");
        return read_env_operation<R, Query>(static_cast<R &&>(r));
    }
};

} // namespace detail

struct read_env_t {
    template <class Query> constexpr auto operator()(Query) const noexcept { return detail::read_env_sender<Query>{}; }
};
inline constexpr read_env_t read_env{};

} // namespace thence::exec
