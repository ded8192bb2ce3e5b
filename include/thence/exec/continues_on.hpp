// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/continues_on.hpp
 *  @brief Completes on a scheduler: it stores the completion of a sender, of any kind, and sends it on the scheduler.
 *
 *  Completion signatures:
 *  - those of the sender, values and errors decayed,
 *  - the errors and set_stopped_t() of schedule(),
 *  - set_error_t(std::exception_ptr) unless storing the values and errors is noexcept.
 *
 *  Source: C++26 [exec.continues.on], [exec.schedule.from]. */

// Invariant: `outcome` is set once, before the scheduler's operation is started, and is read only after that.

#include <thence/exec/connect.hpp>
#include <thence/exec/detail/kept_outcome.hpp>
#include <thence/exec/schedulers.hpp>
#include <thence/exec/sender_adaptor_closure.hpp>

namespace thence::exec {

namespace detail {

/** The completion signatures of schedule() without set_value_t(). */
template <class Sig> struct without_values { using type = completion_signatures<Sig>; };
template <class... Vs> struct without_values<set_value_t(Vs...)> { using type = completion_signatures<>; };

template <class Completions, class SchedulerCompletions>
using continues_on_completions =
    join_completions_t<typename map_completions<Completions, decayed_signature>::type,
                       typename map_completions<SchedulerCompletions, without_values>::type,
                       completions_if_throwing<kept_list<Completions>::nothrow>>;

/** Receiver of the predecessor. */
template <class Operation, class R> struct continues_on_receiver {
    using receiver_concept = receiver_t;
    Operation *operation;

    template <class... Vs> void set_value(Vs &&...values) &&noexcept {
        operation->template keep<set_value_t>(static_cast<Vs &&>(values)...);
    }
    template <class E> void set_error(E &&error) &&noexcept {
        operation->template keep<set_error_t>(static_cast<E &&>(error));
    }
    void set_stopped() &&noexcept { operation->template keep<set_stopped_t>(); }
    env_of_t<R> get_env() const noexcept { return exec::get_env(operation->receiver); }
};

/** Receiver of the scheduler's sender. */
template <class Operation, class R> struct schedule_receiver {
    using receiver_concept = receiver_t;
    Operation *operation;

    void set_value() &&noexcept { operation->send(); }
    template <class E> void set_error(E &&error) &&noexcept {
        exec::set_error(static_cast<R &&>(operation->receiver), static_cast<E &&>(error));
    }
    void set_stopped() &&noexcept { exec::set_stopped(static_cast<R &&>(operation->receiver)); }
    env_of_t<R> get_env() const noexcept { return exec::get_env(operation->receiver); }
};

template <class S, class Scheduler, class R> struct continues_on_operation : immovable {
    using operation_state_concept = operation_state_t;
    using first_receiver = continues_on_receiver<continues_on_operation, R>;
    using second_receiver = schedule_receiver<continues_on_operation, R>;

    [[no_unique_address]] R receiver;
    [[no_unique_address]] kept_outcome_t<completion_signatures_of_t<S, env_of_t<R>>> outcome;
    connect_result_t<schedule_result_t<Scheduler>, second_receiver> second;
    connect_result_t<S, first_receiver> first;

    continues_on_operation(S &&s, Scheduler target, R r)
        : receiver(static_cast<R &&>(r)), second(exec::connect(exec::schedule(target), second_receiver{this})),
          first(exec::connect(static_cast<S &&>(s), first_receiver{this})) {}
    void start() &noexcept { exec::start(first); }

    template <class Tag, class... As> void keep(As &&...as) noexcept {
        detail::keep<Tag>(outcome, static_cast<As &&>(as)...);
        exec::start(second);
    }
    void send() noexcept {
        outcome.visit([this](auto &kept) noexcept { deliver(static_cast<R &&>(receiver), kept); });
    }
};

template <class Scheduler> struct continues_on_env {
    Scheduler target;
    template <class Tag>
    requires(contains<Tag, set_value_t, set_stopped_t>) Scheduler query(get_completion_scheduler_t<Tag>)
    const noexcept { return target; }
};

template <class S, class Scheduler> struct continues_on_sender {
    using sender_concept = sender_t;
    [[no_unique_address]] S predecessor;
    [[no_unique_address]] Scheduler target;

    template <class Self, class... Env>
    requires sender_in<copy_cvref_t<Self, S>, Env...> && sender_in<schedule_result_t<Scheduler>, Env...>
    static consteval auto get_completion_signatures() {
        return continues_on_completions<child_completions_t<Self, S, Env...>,
                                        completion_signatures_of_t<schedule_result_t<Scheduler>, Env...>>();
    }
    template <receiver R> auto connect(R r) && {
        return continues_on_operation<S, Scheduler, R>(static_cast<S &&>(predecessor), target, static_cast<R &&>(r));
    }
    template <receiver R>
    requires std::copy_constructible<S>
    auto connect(R r) const & {
        return continues_on_operation<const S &, Scheduler, R>(predecessor, target, static_cast<R &&>(r));
    }
    auto get_env() const noexcept { return continues_on_env<Scheduler>{target}; }
};

} // namespace detail

/** @brief `continues_on(sender, scheduler)`, `sender | continues_on(scheduler)`. */
struct continues_on_t {
    template <sender S, class Scheduler> constexpr auto operator()(S &&s, Scheduler &&target) const {
        static_assert(scheduler<Scheduler>, "continues_on: the second argument is not a scheduler");
        return detail::continues_on_sender<std::decay_t<S>, std::decay_t<Scheduler>>{static_cast<S &&>(s),
                                                                                     static_cast<Scheduler &&>(target)};
    }
    template <scheduler Scheduler> constexpr auto operator()(Scheduler &&target) const {
        return detail::bound_closure(*this, static_cast<Scheduler &&>(target));
    }
};
inline constexpr continues_on_t continues_on{};

} // namespace thence::exec
