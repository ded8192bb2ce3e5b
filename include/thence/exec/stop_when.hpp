// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/stop_when.hpp
 *  @brief `stop_when(sender, token)`: stop requests of the token and of the receiver both reach the sender.
 *
 *  Completion signatures: those of the sender.
 *
 *  Source: C++26 [exec.stop.when], where only the library itself uses it. */

// Invariant: both stop callbacks are destroyed before the receiver is completed, so none accesses a destroyed source.

#include <thence/exec/connect.hpp>
#include <thence/exec/detail/stop_callback_slot.hpp>
#include <thence/exec/sender_adaptor_closure.hpp>

namespace thence::exec {

namespace detail {

template <class S, class Token, class R> class stop_when_operation : immovable {
    using outer_token = stop_token_of_t<env_of_t<R>>;
    // If the receiver cannot be stopped, the sender gets the token itself.
    static constexpr bool only_token = unstoppable_token<outer_token>;
    using inner_token = std::conditional_t<only_token, Token, inplace_stop_token>;

    struct inner_receiver {
        using receiver_concept = receiver_t;
        stop_when_operation *self;

        template <class... Vs> void set_value(Vs &&...values) &&noexcept {
            exec::set_value(self->release_receiver(), static_cast<Vs &&>(values)...);
        }
        template <class E> void set_error(E &&error) &&noexcept {
            exec::set_error(self->release_receiver(), static_cast<E &&>(error));
        }
        void set_stopped() &&noexcept { exec::set_stopped(self->release_receiver()); }
        env<prop<get_stop_token_t, inner_token>, env_of_t<R>> get_env() const noexcept {
            return {{get_stop_token, self->inner()}, exec::get_env(self->receiver_)};
        }
    };

public:
    using operation_state_concept = operation_state_t;

    stop_when_operation(S &&s, Token token, R r)
        : receiver_(static_cast<R &&>(r)), token_(token),
          operation_(exec::connect(static_cast<S &&>(s), inner_receiver{this})) {}
    void start() &noexcept {
        if constexpr (!only_token) {
            by_token_.set(token_, forward_stop{&source_});
            by_receiver_.set(get_stop_token(exec::get_env(receiver_)), forward_stop{&source_});
        }
        exec::start(operation_);
    }

private:
    struct unused {
        static void reset() noexcept {}
    };
    inner_token inner() const noexcept {
        if constexpr (only_token) {
            return token_;
        } else {
            return source_.get_token();
        }
    }
    R &&release_receiver() noexcept {
        by_token_.reset();
        by_receiver_.reset();
        return static_cast<R &&>(receiver_);
    }

    [[no_unique_address]] R receiver_;
    [[no_unique_address]] Token token_;
    [[no_unique_address]] std::conditional_t<only_token, unused, inplace_stop_source> source_;
    [[no_unique_address]] std::conditional_t<only_token, unused, stop_callback_slot<Token, forward_stop>> by_token_;
    [[no_unique_address]] stop_callback_slot<outer_token, forward_stop> by_receiver_;
    connect_result_t<S, inner_receiver> operation_;
};

/** The environment in which the sender runs. */
template <class Token, class Env>
using stop_when_env =
    env<prop<get_stop_token_t, std::conditional_t<unstoppable_token<stop_token_of_t<Env>>, Token, inplace_stop_token>>,
        Env>;

template <class S, class Token> struct stop_when_sender {
    using sender_concept = sender_t;
    [[no_unique_address]] S predecessor;
    [[no_unique_address]] Token token;

    template <class Self>
    requires sender_in<copy_cvref_t<Self, S>>
    static consteval auto get_completion_signatures() { return child_completions_t<Self, S>(); }
    template <class Self, class Env>
    requires sender_in<copy_cvref_t<Self, S>, stop_when_env<Token, Env>>
    static consteval auto get_completion_signatures() {
        return child_completions_t<Self, S, stop_when_env<Token, Env>>();
    }
    template <receiver R> auto connect(R r) && {
        return stop_when_operation<S, Token, R>(static_cast<S &&>(predecessor), token, static_cast<R &&>(r));
    }
    template <receiver R>
    requires std::copy_constructible<S>
    auto connect(R r) const & {
        return stop_when_operation<const S &, Token, R>(predecessor, token, static_cast<R &&>(r));
    }
    auto get_env() const noexcept { return forward_env(exec::get_env(predecessor)); }
};

} // namespace detail

struct stop_when_t {
    template <sender S, stoppable_token Token> constexpr auto operator()(S &&s, Token token) const {
        return detail::stop_when_sender<std::decay_t<S>, Token>{static_cast<S &&>(s), token};
    }
    template <stoppable_token Token> constexpr auto operator()(Token token) const {
        return detail::bound_closure(*this, token);
    }
};
inline constexpr stop_when_t stop_when{};

} // namespace thence::exec
