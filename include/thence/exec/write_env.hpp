// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/write_env.hpp
 *  @brief `write_env(sender, environment)`: the sender's queries are answered by this environment, for instance
 *         `prop{get_stop_token, token}`, and if it has no answer, by that of the receiver. `unstoppable(sender)`: stop
 *         requests do not reach the sender.
 *
 *  Completion signatures: those of the sender in the joined environment.
 *
 *  Source: C++26 [exec.write.env], [exec.unstoppable]. */

#include <thence/exec/connect.hpp>
#include <thence/exec/queries.hpp>
#include <thence/exec/sender_adaptor_closure.hpp>

namespace thence::exec {

namespace detail {

template <class R, class Env> struct write_env_receiver {
    using receiver_concept = receiver_t;
    [[no_unique_address]] R next;
    [[no_unique_address]] Env answers;

    template <class... As> void set_value(As &&...as) &&noexcept {
        exec::set_value(static_cast<R &&>(next), static_cast<As &&>(as)...);
    }
    template <class E> void set_error(E &&error) &&noexcept {
        exec::set_error(static_cast<R &&>(next), static_cast<E &&>(error));
    }
    void set_stopped() &&noexcept { exec::set_stopped(static_cast<R &&>(next)); }
    env<Env, env_of_t<R>> get_env() const noexcept { return {answers, exec::get_env(next)}; }
};

template <class S, class Env> struct write_env_sender {
    using sender_concept = sender_t;
    [[no_unique_address]] S predecessor;
    [[no_unique_address]] Env answers;

    template <class Self, class... Outer>
    requires sender_in<copy_cvref_t<Self, S>, env<Env, Outer...>>
    static consteval auto get_completion_signatures() { return child_completions_t<Self, S, env<Env, Outer...>>(); }
    template <receiver R> auto connect(R r) &&noexcept(nothrow_connect<S, write_env_receiver<R, Env>>) {
        return exec::connect(static_cast<S &&>(predecessor),
                             write_env_receiver<R, Env>{static_cast<R &&>(r), static_cast<Env &&>(answers)});
    }
    template <receiver R>
    requires std::copy_constructible<S>
    auto connect(R r) const &noexcept(nothrow_connect<const S &, write_env_receiver<R, Env>>) {
        return exec::connect(predecessor, write_env_receiver<R, Env>{static_cast<R &&>(r), answers});
    }
    auto get_env() const noexcept { return forward_env(exec::get_env(predecessor)); }
};

} // namespace detail

struct write_env_t {
    template <sender S, class Env> constexpr auto operator()(S &&s, Env &&environment) const {
        return detail::write_env_sender<std::decay_t<S>, std::decay_t<Env>>{static_cast<S &&>(s),
                                                                            static_cast<Env &&>(environment)};
    }
    template <class Env>
    requires(!sender<Env>) constexpr auto operator()(Env &&environment) const {
        return detail::bound_closure(*this, static_cast<Env &&>(environment));
    }
};
inline constexpr write_env_t write_env{};

struct unstoppable_t : sender_adaptor_closure<unstoppable_t> {
    template <sender S> constexpr auto operator()(S &&s) const {
        return write_env(static_cast<S &&>(s), prop{get_stop_token, never_stop_token()});
    }
    constexpr auto operator()() const noexcept { return *this; }
};
inline constexpr unstoppable_t unstoppable{};

} // namespace thence::exec
