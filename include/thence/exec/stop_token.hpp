// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/stop_token.hpp
 *  @brief The concept of stop tokens, and never_stop_token.
 *
 *  A stop token says whether stop was requested (`stop_requested`) and whether it can be or has been (`stop_possible`).
 *  `Token::callback_type<F>`, constructed from a token and an F, calls F once when stop is requested. Its destructor
 *  waits while F runs on another thread.
 *
 *  Source: C++26 [stoptoken.concepts], [stoptoken.never]. */

#include <thence/exec/detail/meta.hpp>

namespace thence::exec {

/** @brief The type of a callback of `Token` that calls an `F`. */
template <class Token, class F> using stop_callback_for_t = typename Token::template callback_type<F>;

template <class Token>
concept stoppable_token = std::is_nothrow_copy_constructible_v<Token> && std::equality_comparable<Token> &&
    requires(const Token &token) {
    { token.stop_requested() }
    noexcept->std::same_as<bool>;
    { token.stop_possible() }
    noexcept->std::same_as<bool>;
};

/** @brief A token of which it is known at compile time that stop is never requested. */
template <class Token>
concept unstoppable_token = stoppable_token<Token> && requires {
    requires std::bool_constant<(!Token::stop_possible())>::value;
};

/** @brief The token of an operation that cannot be stopped. */
class never_stop_token {
    struct ignore {
        explicit ignore(never_stop_token, auto &&) noexcept {}
    };

public:
    template <class> using callback_type = ignore;
    static constexpr bool stop_requested() noexcept { return false; }
    static constexpr bool stop_possible() noexcept { return false; }
    friend constexpr bool operator==(never_stop_token, never_stop_token) noexcept { return true; }
};

} // namespace thence::exec
