// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Storage for the stop callback of an operation between start and completion, and the conversion of any stop token to
// an inplace_stop_token. Both are empty for a token of which stop is never requested.

#include <thence/exec/detail/variant.hpp>
#include <thence/exec/inplace_stop_source.hpp>
#include <thence/exec/queries.hpp>

namespace thence::exec::detail {

/** Storage for a callback of `Token` that calls an F. */
template <class Token, class F> class stop_callback_slot {
public:
    void set(Token token, F fn) {
        callback_.template emplace<callback>(static_cast<Token &&>(token), static_cast<F &&>(fn));
    }
    /** Destroys the callback. On return F does not run, unless F itself calls this. */
    void reset() noexcept { callback_.reset(); }

private:
    using callback = stop_callback_for_t<Token, F>;
    variant<callback> callback_;
};
template <unstoppable_token Token, class F> class stop_callback_slot<Token, F> {
public:
    static void set(Token, F) noexcept {}
    static void reset() noexcept {}
};

/** Passes a stop request on to a source, which the request may destroy. */
struct forward_stop {
    inplace_stop_source *source;
    void operator()() const noexcept { source->request_stop(); }
};

/** An inplace_stop_token that gets the stop requests of a `Token`. */
template <class Token> class inplace_token_of {
public:
    inplace_stop_token set(Token token) {
        slot_.set(static_cast<Token &&>(token), forward_stop{&source_});
        return source_.get_token();
    }
    void reset() noexcept { slot_.reset(); }

private:
    inplace_stop_source source_;
    stop_callback_slot<Token, forward_stop> slot_;
};
template <> class inplace_token_of<inplace_stop_token> {
public:
    static inplace_stop_token set(inplace_stop_token token) noexcept { return token; }
    static void reset() noexcept {}
};
template <unstoppable_token Token> class inplace_token_of<Token> {
public:
    static inplace_stop_token set(Token) noexcept { return {}; }
    static void reset() noexcept {}
};

} // namespace thence::exec::detail
