// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/just.hpp
 *  @brief Senders that complete at once: with values or an error that they hold, or as stopped.
 *
 *  Completion signatures:
 *  - just(values...): set_value_t(Values...)
 *  - just_error(error): set_error_t(Error)
 *  - just_stopped(): set_stopped_t()
 *
 *  Source: C++26 [exec.just]. */

#include <thence/exec/connect.hpp>

namespace thence::exec {

namespace detail {

template <class R, class Tag, class... Vs> struct just_operation : immovable {
    using operation_state_concept = operation_state_t;
    [[no_unique_address]] R receiver;
    [[no_unique_address]] std::tuple<Vs...> values;

    template <class Values>
    just_operation(R r, Values &&v) noexcept(
        std::is_nothrow_constructible_v<std::tuple<Vs...>, Values> &&std::is_nothrow_move_constructible_v<R>)
        : receiver(static_cast<R &&>(r)), values(static_cast<Values &&>(v)) {}
    void start() &noexcept {
        std::apply([this](Vs &...vs) { Tag()(static_cast<R &&>(receiver), static_cast<Vs &&>(vs)...); }, values);
    }
};

template <class Tag, class... Vs> struct just_sender {
    using sender_concept = sender_t;
    [[no_unique_address]] std::tuple<Vs...> values;

    template <class, class...> static consteval auto get_completion_signatures() {
        return completion_signatures<Tag(Vs...)>();
    }
    template <receiver R>
    auto connect(R r) &&noexcept(std::is_nothrow_move_constructible_v<R> &&
                                 (std::is_nothrow_move_constructible_v<Vs> && ...)) {
        return just_operation<R, Tag, Vs...>(static_cast<R &&>(r), static_cast<std::tuple<Vs...> &&>(values));
    }
    template <receiver R>
    requires(std::copy_constructible<Vs> &&...) auto connect(R r) const &noexcept(
        std::is_nothrow_move_constructible_v<R> && (std::is_nothrow_copy_constructible_v<Vs> && ...)) {
        return just_operation<R, Tag, Vs...>(static_cast<R &&>(r), values);
    }
};

} // namespace detail

/** @brief A sender of these values, which it stores by value. Use std::ref for an object that must not be copied. */
struct just_t {
    template <detail::movable_value... Vs>
    constexpr auto operator()(Vs &&...values) const noexcept((detail::nothrow_decay_copy<Vs> && ...)) {
        return detail::just_sender<set_value_t, std::decay_t<Vs>...>{
            std::tuple<std::decay_t<Vs>...>(static_cast<Vs &&>(values)...)};
    }
};
/** @brief A sender that completes with this error. */
struct just_error_t {
    template <detail::movable_value E>
    constexpr auto operator()(E &&error) const noexcept(detail::nothrow_decay_copy<E>) {
        return detail::just_sender<set_error_t, std::decay_t<E>>{std::tuple<std::decay_t<E>>(static_cast<E &&>(error))};
    }
};
/** @brief A sender that completes as stopped. */
struct just_stopped_t {
    constexpr auto operator()() const noexcept { return detail::just_sender<set_stopped_t>{}; }
};
inline constexpr just_t just{};
inline constexpr just_error_t just_error{};
inline constexpr just_stopped_t just_stopped{};

} // namespace thence::exec
