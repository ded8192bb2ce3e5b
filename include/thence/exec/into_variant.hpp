// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/into_variant.hpp
 *  @brief Turns several set_value_t signatures into one, whose value is a std::variant of tuples.
 *
 *  Completion signatures: set_value_t(std::variant<std::tuple<Values...>...>); set_error_t(std::exception_ptr) unless
 *  storing the values is noexcept; errors and set_stopped_t() of the sender, unchanged.
 *
 *  Source: C++26 [exec.into.variant]. */

#include <variant>

#include <thence/exec/connect.hpp>
#include <thence/exec/sender_adaptor_closure.hpp>

namespace thence::exec {

namespace detail {

template <class Completions>
using values_variant_t = rename_t<unique_list_t<gather_t<set_value_t, Completions, decayed_tuple>>, std::variant>;

template <class Variant> struct into_variant_completions {
    template <class Sig> struct map { using type = completion_signatures<Sig>; };
    template <class... Vs> struct map<set_value_t(Vs...)> {
        using type = join_completions_t<completion_signatures<set_value_t(Variant)>,
                                        completions_if_throwing<(nothrow_decay_copy<Vs> && ...)>>;
    };
};

template <class R, class Variant> struct into_variant_receiver {
    using receiver_concept = receiver_t;
    [[no_unique_address]] R next;

    template <class... Vs> void set_value(Vs &&...values) &&noexcept {
        if constexpr ((nothrow_decay_copy<Vs> && ...)) {
            exec::set_value(static_cast<R &&>(next), Variant(decayed_tuple<Vs...>(static_cast<Vs &&>(values)...)));
        } else {
            try {
                exec::set_value(static_cast<R &&>(next), Variant(decayed_tuple<Vs...>(static_cast<Vs &&>(values)...)));
            } catch (...) { // from copying the values
                exec::set_error(static_cast<R &&>(next), std::current_exception());
            }
        }
    }
    template <class E> void set_error(E &&error) &&noexcept {
        exec::set_error(static_cast<R &&>(next), static_cast<E &&>(error));
    }
    void set_stopped() &&noexcept { exec::set_stopped(static_cast<R &&>(next)); }
    env_of_t<R> get_env() const noexcept { return exec::get_env(next); }
};

template <class S> struct into_variant_sender {
    using sender_concept = sender_t;
    [[no_unique_address]] S predecessor;

    template <class Self, class... Env>
    requires sender_in<copy_cvref_t<Self, S>, Env...>
    static consteval auto get_completion_signatures() {
        using completions = child_completions_t<Self, S, Env...>;
        return typename map_completions<completions,
                                        into_variant_completions<values_variant_t<completions>>::template map>::type();
    }
    template <receiver R> auto connect(R r) && {
        using kept = values_variant_t<completion_signatures_of_t<S, env_of_t<R>>>;
        return exec::connect(static_cast<S &&>(predecessor), into_variant_receiver<R, kept>{static_cast<R &&>(r)});
    }
    template <receiver R>
    requires std::copy_constructible<S>
    auto connect(R r) const & {
        using kept = values_variant_t<completion_signatures_of_t<const S &, env_of_t<R>>>;
        return exec::connect(predecessor, into_variant_receiver<R, kept>{static_cast<R &&>(r)});
    }
    auto get_env() const noexcept { return forward_env(exec::get_env(predecessor)); }
};

} // namespace detail

struct into_variant_t : sender_adaptor_closure<into_variant_t> {
    template <sender S> constexpr auto operator()(S &&s) const {
        return detail::into_variant_sender<std::decay_t<S>>{static_cast<S &&>(s)};
    }
    constexpr auto operator()() const noexcept { return *this; }
};
inline constexpr into_variant_t into_variant{};

} // namespace thence::exec
