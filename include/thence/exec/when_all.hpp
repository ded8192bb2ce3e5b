// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/when_all.hpp
 *  @brief Starts several senders and completes when all have completed, with all their values, in the order of the
 *         senders. When one fails or is stopped, stop is requested of the others.
 *
 *  Completion signatures:
 *  - set_value_t(Values...) with the values of all senders in order, if each has exactly one set_value_t signature,
 *  - set_error_t(E) for each error of a sender,
 *  - set_error_t(std::exception_ptr) unless storing the values and errors is noexcept,
 *  - set_stopped_t() if a sender has it.
 *
 *  Source: C++26 [exec.when.all]; P3887. */

// Invariants.
//  - pending counts the senders that have not completed. Only the sender that decrements it to zero completes the
//    receiver. The decrements are release operations, so it sees all results.
//  - outcome changes from values to stopped or failed, and from stopped to failed. Only the sender that changes it to
//    failed stores its error.
//  - A sender that requests stop of the others still counts in pending, so the operation exists until the request is
//    done.

#include <thence/exec/connect.hpp>
#include <thence/exec/detail/stop_callback_slot.hpp>
#include <thence/exec/detail/variant.hpp>

namespace thence::exec {

namespace detail {

using when_all_token = prop<get_stop_token_t, inplace_stop_token>;
template <class... Env> using when_all_env = env<when_all_token, Env...>;

/** The list of values of a sender with one set_value_t signature, or with none. */
template <class Values> struct single_values {
    static_assert(always_false<Values>, "when_all: a sender has several ways to complete with values; pipe it into "
                                        "into_variant() to make one of them");
    static constexpr bool any = false; // avoids a second message
    using type = list<>;
};
template <> struct single_values<list<>> {
    static constexpr bool any = false;
    using type = list<>;
};
template <class... Vs> struct single_values<list<list<Vs...>>> {
    static constexpr bool any = true;
    using type = list<std::decay_t<Vs>...>;
};
template <class Completions> using single_values_of = single_values<gather_t<set_value_t, Completions, list>>;

template <class... Vs> using value_signature = completion_signatures<set_value_t(Vs...)>;
template <class... Es> using error_signatures = completion_signatures<set_error_t(Es)...>;
template <class Completions> using decayed_errors = unique_list_t<gather_t<set_error_t, Completions, std::decay_t>>;

/** Properties of when_all, computed from the completion signatures of its senders. */
template <class... Completions> struct when_all_traits {
    static constexpr bool nothrow = (kept_list<Completions>::nothrow && ...);
    static constexpr bool sends_values = (single_values_of<Completions>::any && ...);
    static constexpr bool stops = (has_stopped<Completions> || ...);
    using errors = unique_list_t<
        concat_t<decayed_errors<Completions>..., std::conditional_t<nothrow, list<>, list<std::exception_ptr>>>>;
    using values = concat_t<typename single_values_of<Completions>::type...>;
    using completions =
        join_completions_t<std::conditional_t<sends_values, rename_t<values, value_signature>, completion_signatures<>>,
                           rename_t<errors, error_signatures>,
                           std::conditional_t<stops, completion_signatures<set_stopped_t()>, completion_signatures<>>>;
};

template <class State, class R, std::size_t I> struct when_all_receiver {
    using receiver_concept = receiver_t;
    State *state;

    template <class... Vs> void set_value(Vs &&...values) &&noexcept {
        state->template keep_values<I>(static_cast<Vs &&>(values)...);
    }
    template <class E> void set_error(E &&error) &&noexcept { state->keep_error(static_cast<E &&>(error)); }
    void set_stopped() &&noexcept { state->keep_stopped(); }
    when_all_env<env_of_t<R>> get_env() const noexcept {
        return {{get_stop_token, state->stop.get_token()}, exec::get_env(state->receiver)};
    }
};

template <class R, class... Completions> struct when_all_state : immovable {
    using traits = when_all_traits<Completions...>;
    enum outcome_t : unsigned char { values_sent, stopped, failed };

    [[no_unique_address]] R receiver;
    atomic<std::size_t> pending{sizeof...(Completions)};
    atomic<unsigned char> outcome{values_sent};
    inplace_stop_source stop;
    [[no_unique_address]] stop_callback_slot<stop_token_of_t<env_of_t<R>>, forward_stop> on_stop;
    [[no_unique_address]] rename_t<typename traits::errors, variant> error;
    [[no_unique_address]] std::tuple<variant<rename_t<typename single_values_of<Completions>::type, std::tuple>>...>
        values;

    explicit when_all_state(R r) noexcept(std::is_nothrow_move_constructible_v<R>) : receiver(static_cast<R &&>(r)) {}

    template <std::size_t I, class... Vs> void keep_values(Vs &&...vs) noexcept {
        if constexpr (traits::sends_values) {
            auto &slot = std::get<I>(values);
            if constexpr ((nothrow_decay_copy<Vs> && ...)) {
                slot.template emplace<decayed_tuple<Vs...>>(static_cast<Vs &&>(vs)...);
            } else {
                try {
                    slot.template emplace<decayed_tuple<Vs...>>(static_cast<Vs &&>(vs)...);
                } catch (...) {
                    fail(std::current_exception());
                }
            }
        }
        arrive();
    }
    template <class E> void keep_error(E &&e) noexcept {
        fail(static_cast<E &&>(e));
        arrive();
    }
    void keep_stopped() noexcept {
        unsigned char expected = values_sent;
        if (outcome.compare_exchange(expected, stopped)) {
            stop.request_stop();
        }
        arrive();
    }
    void complete() noexcept {
        on_stop.reset();
        switch (outcome.load()) {
        case values_sent:
            if constexpr (traits::sends_values) {
                std::apply([this](auto &...slots) { this->send(slots...); }, values);
            }
            break;
        case stopped:
            if constexpr (traits::stops) {
                exec::set_stopped(static_cast<R &&>(receiver));
            }
            break;
        default:
            error.visit([&next = receiver]<class E>(E &e) noexcept {
                exec::set_error(static_cast<R &&>(next), static_cast<E &&>(e));
            });
        }
    }

private:
    void arrive() noexcept {
        if (pending.fetch_sub(1) == 1) {
            complete();
        }
    }
    template <class E> void fail(E &&e) noexcept {
        if (outcome.exchange(failed) == failed) {
            return;
        }
        if constexpr (nothrow_decay_copy<E>) {
            error.template emplace<std::decay_t<E>>(static_cast<E &&>(e));
        } else {
            try {
                error.template emplace<std::decay_t<E>>(static_cast<E &&>(e));
            } catch (...) {
                error.template emplace<std::exception_ptr>(std::current_exception());
            }
        }
        stop.request_stop();
    }
    template <class... Slots> void send(Slots &...slots) noexcept {
        std::apply([this]<class... Vs>(
                       Vs &&...vs) { exec::set_value(static_cast<R &&>(receiver), static_cast<Vs &&>(vs)...); },
                   std::tuple_cat(as_rvalues(slots)...));
    }
    template <class... Vs> static std::tuple<Vs &&...> as_rvalues(variant<std::tuple<Vs...>> &slot) noexcept {
        return std::apply([](Vs &...vs) { return std::tuple<Vs &&...>(static_cast<Vs &&>(vs)...); },
                          slot.template get<std::tuple<Vs...>>());
    }
};

template <class State, class R, std::size_t I, class S> struct when_all_part {
    connect_result_t<S, when_all_receiver<State, R, I>> operation;

    when_all_part(State *state, auto &&s) noexcept(nothrow_connect<S, when_all_receiver<State, R, I>>)
        : operation(exec::connect(static_cast<S &&>(s), when_all_receiver<State, R, I>{state})) {}
};

template <class R, class Indices, class... Ss> struct when_all_operation;
template <class R, std::size_t... Is, class... Ss>
struct when_all_operation<R, std::index_sequence<Is...>, Ss...>
    : when_all_state<R, completion_signatures_of_t<Ss, when_all_env<env_of_t<R>>>...> {
    using operation_state_concept = operation_state_t;
    using state = when_all_state<R, completion_signatures_of_t<Ss, when_all_env<env_of_t<R>>>...>;
    struct children_t : when_all_part<state, R, Is, Ss>... {
        children_t(state *s, auto &&senders)
            : when_all_part<state, R, Is, Ss>(s, std::get<Is>(static_cast<decltype(senders)>(senders)))... {}
    };
    [[no_unique_address]] children_t children;

    when_all_operation(R r, auto &&senders)
        : state(static_cast<R &&>(r)), children(this, static_cast<decltype(senders)>(senders)) {}
    void start() &noexcept {
        this->on_stop.set(get_stop_token(exec::get_env(this->receiver)), forward_stop{&this->stop});
        if constexpr (sizeof...(Ss) == 0) {
            this->complete();
        } else {
            (exec::start(static_cast<when_all_part<state, R, Is, Ss> &>(children).operation), ...);
        }
    }
};

template <class... Ss> struct when_all_sender {
    using sender_concept = sender_t;
    [[no_unique_address]] std::tuple<Ss...> senders;

    template <class Self, class... Env>
    requires(sender_in<copy_cvref_t<Self, Ss>, when_all_env<Env...>>
                 &&...) static consteval auto get_completion_signatures() {
        return typename when_all_traits<child_completions_t<Self, Ss, when_all_env<Env...>>...>::completions();
    }
    template <receiver R> auto connect(R r) && {
        return when_all_operation<R, std::index_sequence_for<Ss...>, Ss...>(static_cast<R &&>(r),
                                                                            static_cast<std::tuple<Ss...> &&>(senders));
    }
    template <receiver R>
    requires(std::copy_constructible<Ss> &&...) auto connect(R r) const & {
        return when_all_operation<R, std::index_sequence_for<Ss...>, const Ss &...>(static_cast<R &&>(r), senders);
    }
};

} // namespace detail

/** @brief `when_all(senders...)`. */
struct when_all_t {
    template <sender... Ss> constexpr auto operator()(Ss &&...senders) const {
        return detail::when_all_sender<std::decay_t<Ss>...>{
            std::tuple<std::decay_t<Ss>...>(static_cast<Ss &&>(senders)...)};
    }
};
inline constexpr when_all_t when_all{};

} // namespace thence::exec
