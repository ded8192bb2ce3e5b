// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/let.hpp
 *  @brief `let_value`, `let_error`, `let_stopped`: a function of the values or of the error, or for stopped, returns a
 *         sender, which is started next. The arguments of the function are stored in the operation until that sender
 *         completes, so the function may take them by reference. The predecessor's operation exists until the function
 *         has returned.
 *
 *  Completion signatures, for the channel of the function:
 *  - those of every sender that the function returns,
 *  - set_error_t(std::exception_ptr) unless storing the arguments, the function and connect() are noexcept.
 *
 *  Those of the other two channels are unchanged.
 *
 *  Environment: for the sender that the function returns, get_scheduler is the scheduler on which the predecessor has
 *  completed, if that is known.
 *
 *  Source: C++26 [exec.let]. */

// Invariant: the predecessor's operation and the next one use the same storage, one after the other. The arguments are
// stored elsewhere. The function is called in the completion of the predecessor's operation, which exists until the
// function has returned, since arguments may refer to it. It is destroyed when the next operation is constructed.

#include <thence/exec/connect.hpp>
#include <thence/exec/detail/variant.hpp>
#include <thence/exec/queries.hpp>
#include <thence/exec/sender_adaptor_closure.hpp>

namespace thence::exec {

namespace detail {

/** An environment with the scheduler on which S completes, for the next sender. */
template <class Tag, class S> constexpr auto let_env(const S &s) noexcept {
    if constexpr (answers<env_of_t<S>, get_completion_scheduler_t<Tag>>) {
        return prop{get_scheduler, get_completion_scheduler<Tag>(exec::get_env(s))};
    } else {
        return env<>();
    }
}
template <class Tag, class S> using let_env_t = decltype(let_env<Tag>(std::declval<S>()));

template <class Added, class Env> struct let_joined { using type = env<Added, Env>; };
template <class Env> struct let_joined<env<>, Env> { using type = Env; };
template <class Added, class Env> using let_joined_t = typename let_joined<Added, Env>::type;

template <class F, class... As> struct let_next {
    static_assert(std::is_invocable_v<F, std::decay_t<As> &...>,
                  "let_value, let_error, let_stopped: the function cannot be called with lvalues of what the sender "
                  "before it sends; change its parameters to take these values by reference or by value");
    using type = std::invoke_result_t<F, std::decay_t<As> &...>;
    static_assert(sender<type>, "let_value, let_error, let_stopped: the function must return a sender; to return a "
                                "value use then, upon_error, upon_stopped");
    static constexpr bool nothrow =
        (nothrow_decay_copy<As> && ...) && std::is_nothrow_invocable_v<F, std::decay_t<As> &...>;
};

template <class Tag, class F, class... Env> struct let_completions {
    template <class Sig> struct map { using type = completion_signatures<Sig>; };
    template <class... As> struct map<Tag(As...)> {
        using next = let_next<F, As...>;
        using type = join_completions_t<
            completion_signatures_of_t<typename next::type, Env...>,
            completions_if_throwing<next::nothrow &&
                                    nothrow_connect<typename next::type, typename archetype_for<Env...>::type>>>;
    };
    /** Whether the completion signatures of the next sender are known. */
    template <class Sig> struct known : std::true_type {};
    template <class... As>
    struct known<Tag(As...)> : std::bool_constant<sender_in<typename let_next<F, As...>::type, Env...>> {};
};

/** The receiver of the sender that the function returns. */
template <class R, class Added> struct let_next_receiver {
    using receiver_concept = receiver_t;
    R *next;
    [[no_unique_address]] Added added;

    template <class... As> void set_value(As &&...as) &&noexcept {
        exec::set_value(static_cast<R &&>(*next), static_cast<As &&>(as)...);
    }
    template <class E> void set_error(E &&error) &&noexcept {
        exec::set_error(static_cast<R &&>(*next), static_cast<E &&>(error));
    }
    void set_stopped() &&noexcept { exec::set_stopped(static_cast<R &&>(*next)); }
    let_joined_t<Added, env_of_t<R>> get_env() const noexcept {
        if constexpr (std::is_same_v<Added, env<>>) {
            return exec::get_env(*next);
        } else {
            return {added, exec::get_env(*next)};
        }
    }
};

/** The receiver of the predecessor. */
template <class Tag, class Operation, class R> struct let_receiver {
    using receiver_concept = receiver_t;
    Operation *operation;

    template <class... As> void set_value(As &&...as) &&noexcept { take<set_value_t>(static_cast<As &&>(as)...); }
    template <class E> void set_error(E &&error) &&noexcept { take<set_error_t>(static_cast<E &&>(error)); }
    void set_stopped() &&noexcept { take<set_stopped_t>(); }
    env_of_t<R> get_env() const noexcept { return exec::get_env(operation->receiver); }

private:
    template <class Channel, class... As> void take(As &&...as) noexcept {
        if constexpr (std::is_same_v<Channel, Tag>) {
            operation->start_next(static_cast<As &&>(as)...); // destroys *this
        } else {
            Channel()(static_cast<R &&>(operation->receiver), static_cast<As &&>(as)...);
        }
    }
};

template <class Tag, class S, class F, class R> struct let_operation : immovable {
    using operation_state_concept = operation_state_t;
    using added_env = let_env_t<Tag, S>;
    using first_receiver = let_receiver<Tag, let_operation, R>;
    using next_receiver = let_next_receiver<R, added_env>;
    using first_operation = connect_result_t<S, first_receiver>;
    using completions = completion_signatures_of_t<S, env_of_t<R>>;
    template <class... As> using next_operation = connect_result_t<typename let_next<F, As...>::type, next_receiver>;
    using next_operations = unique_list_t<gather_t<Tag, completions, next_operation>>;

    [[no_unique_address]] R receiver;
    [[no_unique_address]] F fn;
    [[no_unique_address]] added_env added;
    [[no_unique_address]] rename_t<unique_list_t<gather_t<Tag, completions, decayed_tuple>>, variant> kept;
    rename_t<unique_list_t<concat_t<list<first_operation>, next_operations>>, variant> operations;

    let_operation(S &&s, auto &&f,
                  R r) noexcept(nothrow_connect<S, first_receiver> &&std::is_nothrow_constructible_v<F, decltype(f)>
                                    &&std::is_nothrow_move_constructible_v<R>)
        : receiver(static_cast<R &&>(r)), fn(static_cast<decltype(f)>(f)), added(let_env<Tag>(s)) {
        operations.template emplace_from<first_operation>(
            [&]() noexcept(nothrow_connect<S, first_receiver>) -> decltype(auto) {
                return exec::connect(static_cast<S &&>(s), first_receiver{this});
            });
    }
    void start() &noexcept { exec::start(operations.template get<first_operation>()); }

    template <class... As> void start_next(As &&...as) noexcept {
        if constexpr (let_next<F, As...>::nothrow &&
                      nothrow_connect<typename let_next<F, As...>::type, next_receiver>) {
            exec::start(make_next(static_cast<As &&>(as)...));
        } else {
            next_operation<As...> *next = nullptr;
            try {
                next = &make_next(static_cast<As &&>(as)...);
            } catch (...) {
                exec::set_error(static_cast<R &&>(receiver), std::current_exception());
                return;
            }
            exec::start(*next);
        }
    }

private:
    template <class... As> next_operation<As...> &make_next(As &&...as) {
        auto &arguments = kept.template emplace<decayed_tuple<As...>>(static_cast<As &&>(as)...);
        using next_sender = typename let_next<F, As...>::type;
        next_sender next = std::apply(
            [this](auto &...vs) -> next_sender { return detail::invoke(static_cast<F &&>(fn), vs...); }, arguments);
        return operations.template emplace_from<next_operation<As...>>([&]() -> decltype(auto) {
            return exec::connect(static_cast<next_sender &&>(next), next_receiver{&receiver, added});
        });
    }
};

template <class Tag, class S, class F> struct let_sender {
    using sender_concept = sender_t;
    [[no_unique_address]] F fn;
    [[no_unique_address]] S predecessor;

    template <class Self, class... Env> using rules = let_completions<Tag, F, let_joined_t<let_env_t<Tag, S>, Env>...>;

    template <class Self, class... Env>
    requires sender_in<copy_cvref_t<Self, S>, Env...> &&
        (all_signatures<child_completions_t<Self, S, Env...>,
                        rules<Self, Env...>::template known>)static consteval auto get_completion_signatures() {
        return
            typename map_completions<child_completions_t<Self, S, Env...>, rules<Self, Env...>::template map>::type();
    }
    template <receiver R>
    auto connect(R r) &&noexcept(std::is_nothrow_constructible_v<let_operation<Tag, S, F, R>, S, F, R>) {
        return let_operation<Tag, S, F, R>(static_cast<S &&>(predecessor), static_cast<F &&>(fn), static_cast<R &&>(r));
    }
    template <receiver R>
    requires std::copy_constructible<F> && std::copy_constructible<S>
    auto connect(R r) const & { return let_operation<Tag, const S &, F, R>(predecessor, fn, static_cast<R &&>(r)); }
};

template <class Adaptor, class Tag> struct let_adaptor {
    template <sender S, movable_value F> constexpr auto operator()(S &&s, F &&fn) const {
        return let_sender<Tag, std::decay_t<S>, std::decay_t<F>>{static_cast<F &&>(fn), static_cast<S &&>(s)};
    }
    template <movable_value F> constexpr auto operator()(F &&fn) const {
        return bound_closure(Adaptor(), static_cast<F &&>(fn));
    }
};

} // namespace detail

/** @brief Starts the sender that a function of the values returns. */
struct let_value_t : detail::let_adaptor<let_value_t, set_value_t> {};
/** @brief Starts the sender that a function of the error returns. */
struct let_error_t : detail::let_adaptor<let_error_t, set_error_t> {};
/** @brief Starts the sender that a function returns if the predecessor was stopped. */
struct let_stopped_t : detail::let_adaptor<let_stopped_t, set_stopped_t> {};
inline constexpr let_value_t let_value{};
inline constexpr let_error_t let_error{};
inline constexpr let_stopped_t let_stopped{};

} // namespace thence::exec
