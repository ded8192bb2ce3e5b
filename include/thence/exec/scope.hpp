// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/scope.hpp
 *  @brief Tokens of async scopes, and associations, which tokens give. A scope is not joined before every association
 *         with it is destroyed. `associate(sender, token)` gives a sender an association.
 *
 *  Completion signatures of associate(): those of the sender as the token wraps it; set_stopped_t(), with which it
 *  completes if the scope refuses it.
 *
 *  Source: C++26 [exec.scope.concepts], [exec.associate]; P3149, P3815. */

#include <optional>

#include <thence/exec/connect.hpp>
#include <thence/exec/sender_adaptor_closure.hpp>

namespace thence::exec {

/** @brief An object that keeps a scope from being joined. It converts to false if the scope has refused. */
template <class T>
concept scope_association = std::movable<T> && std::is_nothrow_move_constructible_v<T> &&
    std::is_nothrow_move_assignable_v<T> && std::default_initializable<T> && requires(const T &association) {
    { static_cast<bool>(association) }
    noexcept;
    { association.try_associate() } -> std::same_as<T>;
};

namespace detail {

/** A sender for use in the concept scope_token. */
struct sender_archetype {
    using sender_concept = sender_t;
    using completion_signatures =
        exec::completion_signatures<set_value_t(), set_error_t(std::exception_ptr), set_stopped_t()>;
    struct operation : immovable {
        using operation_state_concept = operation_state_t;
        void start() &noexcept;
    };
    operation connect(auto) const;
};

} // namespace detail

/** @brief A handle of a scope. `wrap(sender)` adapts a sender as the scope needs it, for instance so that the scope can
 *         request stop of it. */
template <class T>
concept scope_token = std::copyable<T> && requires(const T &token) {
    { token.try_associate() } -> scope_association;
    { token.wrap(detail::sender_archetype()) } -> sender_in<env<>>;
};

namespace detail {

template <class Token> using association_t = decltype(std::declval<const Token &>().try_associate());
template <class Token, class S>
using wrapped_t = std::decay_t<decltype(std::declval<const Token &>().wrap(std::declval<S>()))>;

/** The operation state destroys the association after the operation. */
template <class S, class Association, class R> class associate_operation : immovable {
    struct inner_receiver {
        using receiver_concept = receiver_t;
        associate_operation *self;

        template <class... Vs> void set_value(Vs &&...values) &&noexcept {
            exec::set_value(static_cast<R &&>(self->receiver_), static_cast<Vs &&>(values)...);
        }
        template <class E> void set_error(E &&error) &&noexcept {
            exec::set_error(static_cast<R &&>(self->receiver_), static_cast<E &&>(error));
        }
        void set_stopped() &&noexcept { exec::set_stopped(static_cast<R &&>(self->receiver_)); }
        env_of_t<R> get_env() const noexcept { return exec::get_env(self->receiver_); }
    };
    struct inner_operation {
        connect_result_t<S, inner_receiver> operation;
        inner_operation(S &&s, associate_operation *self)
            : operation(exec::connect(static_cast<S &&>(s), inner_receiver{self})) {}
    };

public:
    using operation_state_concept = operation_state_t;

    associate_operation(std::optional<S> &&s, Association association, R r)
        : receiver_(static_cast<R &&>(r)), association_(static_cast<Association &&>(association)) {
        if (association_) {
            inner_.emplace(static_cast<S &&>(*s), this);
        }
    }
    void start() &noexcept {
        if (inner_) {
            exec::start(inner_->operation);
        } else {
            exec::set_stopped(static_cast<R &&>(receiver_));
        }
    }

private:
    [[no_unique_address]] R receiver_;
    Association association_;
    std::optional<inner_operation> inner_;
};

template <class S, class Association> class associate_sender {
public:
    using sender_concept = sender_t;

    template <class Token, class Given>
    associate_sender(const Token &token, Given &&given) : association_(token.try_associate()) {
        if (association_) {
            sender_.emplace(token.wrap(static_cast<Given &&>(given)));
        }
    }
    associate_sender(associate_sender &&) noexcept(std::is_nothrow_move_constructible_v<S>) = default;
    /** The copy has an association of its own, unless the scope refuses it. */
    associate_sender(const associate_sender &other) requires std::copy_constructible<S>
        : association_(other.association_.try_associate()) {
        if (association_) {
            sender_ = other.sender_;
        }
    }

    template <class, class... Env>
    requires sender_in<S, Env...>
    static consteval auto get_completion_signatures() {
        return join_completions_t<completion_signatures_of_t<S, Env...>, completion_signatures<set_stopped_t()>>();
    }
    template <receiver R> auto connect(R r) && {
        return associate_operation<S, Association, R>(static_cast<std::optional<S> &&>(sender_),
                                                      static_cast<Association &&>(association_), static_cast<R &&>(r));
    }
    template <receiver R>
    requires std::copy_constructible<S>
    auto connect(R r) const & { return associate_sender(*this).connect(static_cast<R &&>(r)); }

private:
    Association association_; // destroyed after the sender
    std::optional<S> sender_; // has a value if associated
};

} // namespace detail

/** @brief `associate(sender, token)`, `sender | associate(token)`. */
struct associate_t {
    template <sender S, scope_token Token> auto operator()(S &&s, Token token) const {
        return detail::associate_sender<detail::wrapped_t<Token, S>, detail::association_t<Token>>(
            token, static_cast<S &&>(s));
    }
    template <scope_token Token> auto operator()(Token token) const { return detail::bound_closure(*this, token); }
};
inline constexpr associate_t associate{};

} // namespace thence::exec
