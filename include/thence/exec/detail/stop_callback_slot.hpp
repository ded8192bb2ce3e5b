// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_EXEC_DETAIL_STOP_CALLBACK_SLOT_HPP
#define THENCE_EXEC_DETAIL_STOP_CALLBACK_SLOT_HPP
#if __cplusplus < 202002L
#error "thence/exec/detail/stop_callback_slot.hpp needs C++20: compile with -std=c++20"
#else

// Where an operation keeps its stop callback between start and completion, and how an operation that knows only
// inplace_stop_token listens to another kind of token. Neither takes room for a token that never stops.

#include <thence/exec/detail/variant.hpp>
#include <thence/exec/inplace_stop_source.hpp>
#include <thence/exec/queries.hpp>

namespace thence::exec::detail {

/** Room for a callback of `Token` that calls an F. */
template <class Token, class F> class stop_callback_slot {
public:
    void set(Token token, F fn) {
        callback_.template emplace<callback>(static_cast<Token &&>(token), static_cast<F &&>(fn));
    }
    /** On return F does not run, unless this is called from within it. */
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

/** Passes a stop request on to a source. The source may be destroyed by it. */
struct forward_stop {
    inplace_stop_source *source;
    void operator()() const noexcept { source->request_stop(); }
};

/** An inplace_stop_token that follows a `Token`. */
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

#endif // C++20
#endif
